// SPDX-License-Identifier: Apache-2.0

package store

import "sync/atomic"

// TotalsRow is the number of words of a row of Config.Totals: a cache line, since each row but the
// last has a writer of its own.
const TotalsRow = 8

// TotalsRows is the number of rows of Config.Totals: one for each worker, with the maintainer's,
// and the last one for the store.
const TotalsRows = maxWorkers + 2

// Words of a worker's row.
const (
	totalReads = iota
	totalWrites
	totalDiscards
	totalHuge
	totalBackingReads
	workerTotals
)

// Words of the store's row.
const (
	totalPeak = iota
	totalCompacts
	totalRecounts
	totalBackingWrites
)

// A total is a count that only grows, in memory that may outlive the process.
type total struct{ word *atomic.Uint64 }

func (t total) Load() int64       { return int64(t.word.Load()) }
func (t total) Store(n int64)     { t.word.Store(uint64(n)) }
func (t total) Add(n int64) int64 { return int64(t.word.Add(uint64(n))) }
func (t total) raise(to int64) {
	for old := t.word.Load(); int64(old) < to && !t.word.CompareAndSwap(old, uint64(to)); {
		old = t.word.Load()
	}
}

// keepTotals lets the store and its workers count in the caller's memory, or in its own. If the
// process before had more workers, the last worker's row takes their counts.
func (s *Store) keepTotals() {
	words := s.cfg.Totals
	if len(words) < TotalsRows*TotalsRow {
		words = make([]atomic.Uint64, TotalsRows*TotalsRow)
	}
	row := func(n int) []atomic.Uint64 { return words[n*TotalsRow:][:TotalsRow] }
	for n, w := range s.workers {
		w.count.keep(row(n))
	}
	last := row(len(s.workers) - 1)
	for n := len(s.workers); n < TotalsRows-1; n++ {
		for i := range workerTotals {
			last[i].Add(row(n)[i].Swap(0))
		}
	}
	s.base.keep(make([]atomic.Uint64, TotalsRow)) // not used
	whole := row(TotalsRows - 1)
	s.peak, s.compacts, s.recounts = total{&whole[totalPeak]}, total{&whole[totalCompacts]}, total{&whole[totalRecounts]}
	s.away.writes = total{&whole[totalBackingWrites]}
}

// keep lets the counts that only grow stand in a row.
func (c *counters) keep(row []atomic.Uint64) {
	c.reads, c.writes, c.discards, c.hugeSince = total{&row[totalReads]}, total{&row[totalWrites]}, total{&row[totalDiscards]}, total{&row[totalHuge]}
	c.bdReads = total{&row[totalBackingReads]}
}
