// SPDX-License-Identifier: Apache-2.0

package store

import "fmt"

// rebuild derives from the index what lies outside the image: what each
// segment holds, the references of the same-filled table, and the counters. Of
// a new image it finds nothing. Objects that no entry names, which a process
// that died had placed and not published, or replaced and not freed, are freed.
func (s *Store) rebuild() error {
	var bad error
	for n := range s.indexPages {
		if !s.idx.has(n) {
			continue
		}
		for page := n * indexPerPage; page < min((n+1)*indexPerPage, s.pages); page++ {
			if err := s.adopt(page); err != nil && bad == nil {
				bad = err
			}
		}
	}
	if bad != nil {
		return bad
	}
	for slot, refs := range s.same.refs {
		if refs == 0 { // its last page was replaced by a process that died
			s.same.words[2*slot].Store(0)
			s.same.words[2*slot+1].Store(0)
		}
	}
	s.base.hugeSince.Store(0) // counts writes, not what is there
	return s.adoptSegments()
}

// adopt counts what an entry refers to.
func (s *Store) adopt(page uint64) error {
	e := s.idx.load(page)
	switch {
	case !e.valid(s.geometry.segments):
		return fmt.Errorf("%w: page %d: %#x", ErrEntry, page, uint64(e))
	case e.codec() == sameWordSlot:
		s.same.refs[e.value()]++
	case e.object():
		seg := &s.segments[e.segment()]
		seg.turn(segVoid, segSealed)
		seg.add(footprint(e.length()))
		s.fresh = max(s.fresh, e.segment()+1)
	}
	s.base.add(e, +1)
	return nil
}

// adoptSegments gives back the memory of segments that hold nothing and clears
// what is dead in the others.
func (s *Store) adoptSegments() error {
	for n := range s.fresh {
		if s.segments[n].state() == segVoid {
			if err := s.memory.punch(s.dataOffset+int64(n)*SegmentSize, SegmentSize); err != nil {
				return fmt.Errorf("free segment %d: %w", n, err)
			}
			s.void = append(s.void, uint32(n))
			continue
		}
		if err := s.memory.populate(s.dataOffset+int64(n)*SegmentSize, SegmentSize); err != nil {
			return fmt.Errorf("populate segment %d: %w", n, err)
		}
		s.charged.Add(SegmentSize)
		s.clearDead(n)
	}
	rest := s.dataOffset + int64(s.fresh)*SegmentSize
	if rest < s.size {
		if err := s.memory.punch(rest, s.size-rest); err != nil {
			return fmt.Errorf("free unused segments: %w", err)
		}
	}
	s.notePeak(s.used())
	return nil
}

// clearDead clears the objects of a segment that no entry names, and what was
// begun behind the last. A damaged header derails the walk, which would then
// clear what is alive: so it has to meet all that the index has there first.
func (s *Store) clearDead(n uint64) {
	end, live := n*SegmentSize, int64(0)
	for where := range s.objects(n) {
		h := s.headerAt(where)
		end = where + uint64(footprint(int(h.Length)))
		if s.named(where, h) && s.idx.load(uint64(h.Page)).length() == int(h.Length) {
			live += int64(footprint(int(h.Length)))
		}
	}
	if live != s.segments[n].live() {
		return
	}
	clear(s.segmentBytes(n)[end-n*SegmentSize:])
	for where := range s.objects(n) {
		h := s.headerAt(where)
		if s.named(where, h) {
			continue
		}
		h.Checksum = 0
		fill(s.payload(where, int(h.Length)), freedByte)
	}
}

// named reports whether the entry of an object's page points at the object.
func (s *Store) named(where uint64, h *header) bool {
	if uint64(h.Page) >= s.pages {
		return false
	}
	e := s.idx.load(uint64(h.Page))
	return e.object() && e.where() == where
}
