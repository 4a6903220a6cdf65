// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// Compaction moves the objects of segments that are mostly garbage to a fresh
// one, page by page under the page's lock, while reads and writes go on.

const (
	compactSlice   = 16                     // segments at a time, about a millisecond
	worthMoving    = image.SegmentSize / 32 // garbage that a segment must have, bytes
	garbageClasses = 64
	politeMoves    = 16 // objects between two looks at the time: some microseconds
)

// compact tries to empty up to n sealed segments with at least worth bytes of
// garbage, those with the most first, and returns how many it emptied, and how
// many it leaves alone from now on. The caller holds passMu.
func (s *Store) compact(n int, worth int64) (emptied, stuck int) {
	var victims [compactSlice]uint32
	for _, v := range s.victims(victims[:n], segSealed, worth, s.mayEmpty()) {
		garbage := s.segment(uint64(v)).garbage()
		_, err := s.moveObjects(uint64(v), 0, false)
		e, f := s.finishMove(v, garbage, err)
		emptied, stuck = emptied+e, stuck+f
	}
	return emptied, stuck
}

// finishMove says what evacuate made of a segment that had some garbage, as compact counts it.
func (s *Store) finishMove(v uint32, garbage int64, err error) (emptied, stuck int) {
	seg := s.segment(uint64(v))
	s.compactor().reclaim(true)
	switch {
	case err == nil && seg.live() == 0:
		emptied = 1
		s.compacts.Add(garbage)
	case err == nil && seg.turn(segSealed, segStuck):
		s.emptied(uint64(v))
		s.recount.after = time.Time{}
		stuck = 1
	}
	if s.reserve() == 0 {
		s.recycle() // the compactor itself needs one for the next
	}
	return emptied, stuck
}

// A tidying is what compaction for the sake of memory alone has in hand. Guarded by Store.passMu.
type tidying struct {
	room    [compactSlice]uint32
	left    []uint32 // of room: segments that were chosen, and not emptied or given up
	at      uint64   // where to go on in the first of left, or 0: at its beginning
	garbage int64    // bytes that it had at first
	busy    bool     // an object before at has to stay for now
	gained  bool     // those of room that were tried were not in vain
}

// forget begins anew with segment n, which gets other objects. The caller holds passMu.
func (t *tidying) forget(n uint32) {
	if len(t.left) > 0 && t.left[0] == n {
		t.at, t.busy = 0, false
	}
}

// compactOne compacts one segment, or a part of one if the turn ends. It reports whether there is
// more to do.
func (s *Store) compactOne() (more bool) {
	t := &s.tidying
	if len(t.left) == 0 {
		t.left, t.at, t.busy, t.gained = s.victims(t.room[:], segSealed, worthMoving, s.mayEmpty()), 0, false, false
	}
	if len(t.left) == 0 {
		return false
	}
	if t.at == 0 {
		t.garbage = s.segment(uint64(t.left[0])).garbage()
	}
	at, err := s.moveObjects(uint64(t.left[0]), t.at, true)
	t.busy = t.busy || errors.Is(err, errBusy)
	if at != 0 {
		t.at = at
		s.compactor().reclaim(true)
		return true
	}
	if t.busy {
		err = errBusy
	}
	emptied, stuck := s.finishMove(t.left[0], t.garbage, err)
	t.left, t.at, t.busy, t.gained = t.left[1:], 0, false, t.gained || emptied+stuck > 0
	return t.gained || len(t.left) > 0
}

// victims fills list with the segments in a state that have the most garbage, at
// least worth bytes, and up to live bytes of objects, in two scans over counters: one to
// see how it is spread, one to choose.
func (s *Store) victims(list []uint32, state uint64, worth, live int64) []uint32 {
	var spread [garbageClasses]int
	most := func(n int) (class int, ok bool) {
		seg := s.segment(uint64(n))
		garbage := seg.garbage()
		if seg.state() != state || garbage < worth || seg.live() > live {
			return 0, false
		}
		return int((image.SegmentSize - garbage) / (image.SegmentSize / garbageClasses)), true
	}
	used := int(s.everUsed())
	for n := range used {
		if class, ok := most(n); ok {
			spread[min(class, garbageClasses-1)]++
		}
	}
	limit, total := 0, 0
	for limit < garbageClasses && total < len(list) {
		total += spread[limit]
		limit++
	}
	found := list[:0]
	for n := 0; n < used && len(found) < len(list); n++ {
		if class, ok := most(n); ok && class < limit {
			found = append(found, uint32(n))
		}
	}
	return found
}

// mayEmpty is how many bytes of objects a segment may have for the compactor to begin on it: as
// many as it has room for. A segment where an object has to stay is not emptied, and the objects
// that were moved take room all the same. So the one that was begun last can always be emptied
// later, and the compactor never ends up without room to gather anything.
func (s *Store) mayEmpty() int64 {
	if s.reserve() > 0 {
		return image.SegmentSize
	}
	return s.compactor().open.rest()
}

// maySpend reports whether the compactor may take n bytes for an object that it does not move, and
// can empty a segment with the rest.
func (s *Store) maySpend(n int) bool {
	ready, rest := s.reserve(), s.compactor().open.rest()
	if rest < int64(n) {
		ready, rest = ready-1, image.SegmentSize
	}
	var one [1]uint32
	return ready > 0 || ready == 0 && len(s.victims(one[:], segSealed, worthMoving, rest-int64(n))) > 0
}

// moveObjects moves what is live in segment n from an object on, or from its beginning for 0. It
// fails if an object has to stay for now, because a request is at its page or there is no room, or
// if the segment is no longer sealed. Where it is polite it ends with the turn, and returns the
// object to go on with.
func (s *Store) moveObjects(n, from uint64, polite bool) (at uint64, err error) {
	seg := s.segment(n)
	if seg.live() > s.mayEmpty() {
		return 0, ErrFull
	}
	if !seg.turn(segSealed, segMoving) {
		return 0, errBusy
	}
	moved := 0
	for where := range s.objectsFrom(max(from, n*image.SegmentSize), n) {
		if moved++; polite && moved%politeMoves == 0 && s.turnEnds() {
			at = where
			break
		}
		if e := s.move(where); e != nil {
			if err = e; !errors.Is(e, errBusy) {
				break
			}
		}
	}
	seg.turn(segMoving, segSealed)
	s.emptied(n)
	return at, err
}

// objects yields where each object of a segment begins, freed ones too. A
// damaged header ends or derails the walk; who follows it must check that an
// entry points there.
func (s *Store) objects(n uint64) func(yield func(uint64) bool) {
	return s.objectsFrom(n*image.SegmentSize, n)
}

// objectsFrom yields those of segment n from one on.
func (s *Store) objectsFrom(first, n uint64) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for where, end := first, (n+1)*image.SegmentSize; where+image.HeaderSize < end; {
			h := s.image.HeaderAt(where)
			next := where + uint64(image.Footprint(int(h.Length)))
			if !h.Follows() || next > end || !yield(where) {
				return
			}
			where = next
		}
	}
}

// move copies the object at where to the compactor's segment, if it is live.
// It goes as it is: the checksum does not depend on the place, so damage stays
// noticeable.
func (s *Store) move(where uint64) error {
	h := s.image.HeaderAt(where)
	page := uint64(h.Page)
	if page >= s.image.Pages {
		return nil
	}
	l := s.lock(page)
	if !l.TryLock() { // a writer may hold it while it waits for us
		return errBusy
	}
	defer l.Unlock()
	page, e := s.namer(where, h)
	if e == 0 || !s.owns(page, e) {
		return nil
	}
	return s.relocate(page, e)
}

// relocate copies the object of a page to the compactor's segment, for all pages that
// share it. The caller holds the page's lock.
func (s *Store) relocate(page uint64, e image.Entry) error {
	w, where := s.compactor(), e.Where()
	to, err := w.room(image.Footprint(e.Length()))
	if err != nil {
		return err
	}
	*s.image.HeaderAt(to) = *s.image.HeaderAt(where)
	copy(s.image.Payload(to, e.Length()), s.image.Payload(where, e.Length()))
	invariant.Point("object copied")
	s.idx.swap(page, e.At(to))
	invariant.Point("object moved")
	for other := range s.sharing(page, e) {
		s.idx.swap(other, e.At(to))
		invariant.Point("object moved for another page")
	}
	if e.WrittenBack() {
		e = e.Plain() // the block is the copy's by now
	}
	w.deferFree(e)
	return nil
}
