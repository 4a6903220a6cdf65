// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// A flipped bit in an entry or a header makes the store lose track of an object: its space stays
// counted in its segment, which compaction then cannot empty. Compaction marks such a segment
// stuck and passes over it. When there is nothing better to compact, the maintainer recounts the
// stuck segments: it walks the index, which alone is true, and moves what entries name there,
// whatever the headers say. No entry comes to point into a stuck segment, so after the walk none
// does, and as soon as every worker has freed what it had retired until then, the segment is empty.
//
//	segStuck ---- begin ----> segCounted ---- finish ----> segEmpty
//	    ^                          |
//	    +--- an object stays ------+
type recount struct {
	active  bool
	next    uint64    // index page that the walk looks at next
	drained []bool    // workers that have freed what they retired before the walk ended
	after   time.Time // when another may begin, where the last one freed nothing and no further segment got stuck
}

const (
	recountSlice    = 64           // index pages for each pass while memory is plentiful: about a turn
	recountSegments = 64           // that one walk is for
	recountAtOnce   = 64 << 10     // index pages for each pass while writers wait: tens of milliseconds
	recountEvery    = settleEvery  // pause two that free nothing
	rescueTries     = 100          // for a page whose lock is taken, about a millisecond
	drainFor        = maxWait / 50 // how long a pass waits for workers to drain while writers wait
)

// recountSome recounts stuck segments, at the most pages index pages of the walk, and waits for
// workers no longer than patience. It returns how many segments it freed, and whether it has yet
// to finish. The caller holds passMu.
func (s *Store) recountSome(pages uint64, patience time.Duration) (freed int, more bool) {
	r := &s.recount
	if !r.active && !s.beginRecount() {
		return 0, false
	}
	end := min(r.next+pages, s.image.IndexPages)
	for ; r.next < end; r.next++ {
		if s.idx.has(r.next) {
			s.rescuePage(r.next)
		}
	}
	s.compactor().reclaim(true)
	if r.next < s.image.IndexPages {
		return 0, true
	}
	for until := time.Now().Add(patience); !s.drained(); time.Sleep(waitPause) {
		if !time.Now().Before(until) {
			return 0, true
		}
	}
	if freed = s.finishRecount(); freed == 0 {
		r.after = time.Now().Add(recountEvery)
	}
	return freed, false
}

// recountEnds reports whether a recount may soon free segments, so that writers had better wait.
func (s *Store) recountEnds() bool {
	return s.recount.active && s.image.IndexPages-s.recount.next <= recountAtOnce
}

// beginRecount marks the segments to be recounted, those with the least in them, and reports
// whether there are any.
func (s *Store) beginRecount() bool {
	r := &s.recount
	if time.Now().Before(r.after) {
		return false
	}
	var list [recountSegments]uint32
	for _, n := range s.victims(list[:], segStuck, 0, image.SegmentSize) {
		if s.segment(uint64(n)).turn(segStuck, segCounted) {
			s.emptied(uint64(n))
			r.active = true
		}
	}
	r.next = 0
	clear(r.drained)
	return r.active
}

// everUsed is how many segments have had memory.
func (s *Store) everUsed() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh
}

// rescuePage moves the objects that the entries of an index page name out of segments that are
// being recounted. A segment that an object cannot leave now waits for the next recount.
func (s *Store) rescuePage(n uint64) {
	for page := n * image.EntriesPerPage; page < min((n+1)*image.EntriesPerPage, s.image.Pages); page++ {
		e := s.idx.load(page)
		if !s.counted(e) {
			continue
		}
		err := s.rescue(page)
		for tries := 0; errors.Is(err, errBusy) && tries < rescueTries; tries++ {
			time.Sleep(waitPause / 10)
			err = s.rescue(page)
		}
		if err != nil {
			s.segment(e.Segment()).turn(segCounted, segStuck)
			s.emptied(e.Segment())
		}
	}
}

// counted reports whether an entry points into a segment that is being recounted.
func (s *Store) counted(e image.Entry) bool {
	return e.Object() && e.Valid(s.image.Segments) && s.segment(e.Segment()).state() == segCounted
}

// rescue moves the object of a page out of a segment that is being recounted. A page whose entry
// does not point at an object of its own is lost: the entry becomes one that says so.
func (s *Store) rescue(page uint64) error {
	l := s.lock(page)
	if !l.TryLock() {
		return errBusy
	}
	defer l.Unlock()
	e, w := s.idx.load(page), s.compactor()
	if !s.counted(e) {
		return nil
	}
	if s.owns(page, e) {
		return s.relocate(page, e)
	}
	s.idx.swap(page, image.Lost)
	invariant.Point("page given up")
	w.count.add(e, -1)
	w.corrupt(page, nil)
	return nil
}

// errBusy: a request is at the page.
var errBusy = errors.New("page is busy")

// drained reports whether every worker has been seen without entries that it retired before the
// walk ended: idle, or parked, which it is only after it has freed them.
func (s *Store) drained() bool {
	all := true
	for i, w := range s.workers[:len(s.workers)-1] {
		if s.recount.drained[i] {
			continue
		}
		if w.busy.CompareAndSwap(false, true) {
			s.recount.drained[i] = w.reclaim(false)
			w.busy.Store(false)
		} else {
			s.recount.drained[i] = w.parked.Load()
		}
		all = all && s.recount.drained[i]
	}
	return all
}

// finishRecount empties the recounted segments: no entry points to them.
func (s *Store) finishRecount() (freed int) {
	s.recount.active = false
	for n := range s.everUsed() {
		g := s.segment(n)
		word := g.word.Load()
		if word&(1<<stateBits-1) != segCounted || !g.word.CompareAndSwap(word, segEmpty) {
			continue
		}
		s.tails.Add(-tailOf(word))
		s.queueEmpty(n)
		s.recounts.Add(1)
		s.compacts.Add(image.SegmentSize)
		freed++
	}
	return freed
}
