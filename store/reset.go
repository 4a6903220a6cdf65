// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// Reset drops all pages and counts anew, as of a store that was just created: the memory of all
// segments goes back to the machine, and what stays, the index, is clear. The limit, the algorithm
// and the pages of the index that exist stay as they are. Requests wait until it is done, some
// milliseconds for each GiB stored, so that a caller that does not want to lose pages first makes
// sure that there are none. A process that dies during the call leaves an image where some pages
// are gone and all others as they were. On an error some memory could not be given back; the store
// then keeps it, cleared, for pages to come.
func (s *Store) Reset() error {
	if !s.operators.TryRLock() {
		return ErrClosed
	}
	defer s.operators.RUnlock()
	s.away.batch.writing.Lock() // blocks that are being written have no stub yet
	defer s.away.batch.writing.Unlock()
	s.quiesce()
	defer s.poke() // for a reserve
	defer s.resume()
	s.idx.clear()
	invariant.Point("index cleared")
	s.ages.clear()
	s.same.clear()
	s.away.blocks.clear()
	s.away.batch.open = openSegment{}
	err := s.dropSegments()
	s.startCounts()
	for _, w := range s.workers {
		w.open, w.deserted, w.freed = openSegment{}, false, 0
		clear(w.packed[:])
		clear(w.page[:])
		clear(w.proof)
	}
	return err
}

// clear makes all pages read as zeros. Only a View may use the index during the call.
func (x *index) clear() {
	x.each(0, x.s.image.IndexPages-1, func(n uint64) {
		for page := n * image.EntriesPerPage; page < min((n+1)*image.EntriesPerPage, x.s.image.Pages); page++ {
			x.entries[page].Store(0)
		}
	})
}

// clear drops all words: no entry names one.
func (t *sameTable) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.refs[:])
	for i := range t.words {
		t.words[i].Store(0)
	}
}

// dropSegments gives back the memory of all segments: no entry names any of them. The store is
// quiet.
func (s *Store) dropSegments() (bad error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := int64(0)
	s.ready, s.empty, s.void = s.ready[:0], s.empty[:0], s.void[:0]
	for first := uint64(0); first < s.fresh; first += mapAtOnce {
		r := run{first, min(first+mapAtOnce, s.fresh)}
		err := s.memory.punch(s.image.SegmentAt(r.first), r.bytes())
		if err != nil {
			bad = errors.Join(bad, fmt.Errorf("free %d segments from %d: %w", r.end-r.first, r.first, err))
		}
		for n := r.first; n < r.end; n++ {
			kept += s.dropSegment(n, err == nil)
		}
	}
	invariant.Point("segments dropped")
	s.charged.Store(s.indexBytes() + kept)
	s.unswept.Store(0)
	s.sweepNext, s.recount.active = 0, false
	return bad
}

// dropSegment puts a segment into the list where it belongs once its objects are gone, and returns
// how many bytes it still has. The caller holds Store.mu.
func (s *Store) dropSegment(n uint64, punched bool) int64 {
	g := s.segment(n)
	if punched || g.state() == segVoid {
		g.word.Store(segVoid)
		s.void = append(s.void, uint32(n))
		return 0
	}
	clear(s.image.SegmentBytes(n))
	g.word.Store(segEmpty)
	s.empty = append(s.empty, uint32(n))
	return image.SegmentSize
}

// startCounts makes the counters those of a new store. The store is quiet.
func (s *Store) startCounts() {
	s.base.clear()
	for _, w := range s.workers {
		w.count.clear()
	}
	for i := range s.errors.words {
		s.errors.words[i].Store(0)
	}
	s.startTotals()
	s.written, s.filled = 0, 0
	s.full.Store(false)
	s.deserted.Store(false)
}

func (c *counters) clear() {
	c.footprint.Store(0)
	for id := range codecs {
		c.pages[id].Store(0)
		c.bytes[id].Store(0)
	}
}
