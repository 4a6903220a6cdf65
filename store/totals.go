// SPDX-License-Identifier: Apache-2.0

package store

import "sync/atomic"

// TotalsRow is the number of words of a row of Config.Totals: a cache line, since each row but the
// last has a writer of its own.
const TotalsRow = 8

// TotalsRows is the number of rows of Config.Totals: one for each worker, with the maintainer's,
// one for the store, and those of the sets of refaults.
const TotalsRows = refaultsAt + refaultSets*refaultRows

const (
	storeAt    = maxWorkers + 1 // row of the store
	refaultsAt = storeAt + 1    // row of the first set

	// Workers count refaults in sets of their own, as far as there are some.
	refaultSets = 31
	refaultRows = AgeClasses / TotalsRow
)

// Words of a worker's row.
const (
	totalReads = iota
	totalWrites
	totalDiscards
	totalHuge
	totalBackingReads
)

// Words of the store's row.
const (
	totalPeak = iota
	totalCompacts
	totalRecounts
	totalBackingWrites
	totalRecompressed
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
// process before had more workers, their counts stay in their rows.
func (s *Store) keepTotals() {
	s.totals = s.cfg.Totals
	if len(s.totals) < TotalsRows*TotalsRow {
		s.totals = make([]atomic.Uint64, TotalsRows*TotalsRow)
	}
	for n, w := range s.workers {
		w.count.keep(s.totals[n*TotalsRow:][:TotalsRow])
		w.count.refaults = s.refaults(n % refaultSets)
	}
	whole := s.totals[storeAt*TotalsRow:][:TotalsRow]
	s.peak, s.compacts = total{&whole[totalPeak]}, total{&whole[totalCompacts]}
	s.recounts, s.recompressed = total{&whole[totalRecounts]}, total{&whole[totalRecompressed]}
	s.writtenBack.writes = total{&whole[totalBackingWrites]}
}

// startTotals makes the totals those of a new store.
func (s *Store) startTotals() {
	for i := range s.totals {
		s.totals[i].Store(0)
	}
	s.peak.Store(s.used())
}

// keep lets the counts that only grow stand in a row.
func (c *counters) keep(row []atomic.Uint64) {
	c.reads, c.writes, c.discards, c.hugeSince = total{&row[totalReads]}, total{&row[totalWrites]}, total{&row[totalDiscards]}, total{&row[totalHuge]}
	c.bdReads = total{&row[totalBackingReads]}
}

// refaults is a set of counts of pages read, by class of age.
func (s *Store) refaults(set int) []atomic.Uint64 {
	return s.totals[(refaultsAt+set*refaultRows)*TotalsRow:][:AgeClasses]
}

// total adds up a word of all workers' rows, also of those that this process does not have.
func (s *Store) total(word int) (n uint64) {
	for row := range storeAt {
		n += s.totals[row*TotalsRow+word].Load()
	}
	return n
}

func (s *Store) writes() uint64 { return s.total(totalWrites) }
