// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"sync/atomic"
)

// A segment is in one of these states; the package comment draws who moves it.
const (
	segVoid   uint32 = iota // no memory
	segReady                // memory, all zero, in Store.ready
	segOpen                 // a worker appends to it
	segSealed               // full
	segMoving               // the compactor moves its objects away
	segEmpty                // its last object is gone, in Store.empty
)

type segment struct {
	state atomic.Uint32
	live  atomic.Int32 // footprints of the objects in it that are not freed, bytes
}

// openSegment is where a worker appends. Its zero value has no room.
type openSegment struct {
	next, end uint64 // distances from the first segment, bytes
}

// room finds n bytes of fresh space, counts them as live in their segment and
// returns where they are. It fails with ErrFull.
func (w *Worker) room(n int) (uint64, error) {
	if w.open.next+uint64(n) > w.open.end {
		if err := w.nextSegment(); err != nil {
			return 0, err
		}
	}
	where := w.open.next
	w.open.next += uint64(n)
	w.s.segments[where/SegmentSize].live.Add(int32(n))
	return where, nil
}

// nextSegment seals the open segment and opens another.
func (w *Worker) nextSegment() error {
	n, err := w.s.takeSegment(w == w.s.compactor())
	if err != nil {
		return err
	}
	w.seal()
	w.open.next = uint64(n) * SegmentSize
	w.open.end = w.open.next + SegmentSize
	return nil
}

// seal gives up the open segment.
func (w *Worker) seal() {
	if w.open.end == 0 {
		return
	}
	n := w.open.end/SegmentSize - 1
	w.open = openSegment{}
	w.s.sealSegment(n)
}

func (s *Store) sealSegment(n uint64) {
	s.segments[n].state.Store(segSealed)
	if s.segments[n].live.Load() == 0 {
		s.emptied(n)
	}
}

// freeObject clears the object of an entry that nobody can reach any more and
// gives its space up.
func (s *Store) freeObject(e entry) {
	where := e.where()
	fill(s.payload(where, e.length()), freedByte)
	s.headerAt(where).Checksum = 0
	n := e.segment()
	if s.segments[n].live.Add(-int32(footprint(e.length()))) == 0 {
		s.emptied(n)
	}
}

// emptied queues a sealed segment without objects. Both who seals and who frees
// the last object may find that it is one; the exchange lets one of them win.
func (s *Store) emptied(n uint64) {
	if !s.segments[n].state.CompareAndSwap(segSealed, segEmpty) {
		return
	}
	s.mu.Lock()
	s.empty = append(s.empty, uint32(n))
	s.mu.Unlock()
	s.poke()
}

// takeSegment takes a ready segment, waiting for the maintainer while it can
// make one. The last ready one is kept for the compactor, which needs it to
// free others.
func (s *Store) takeSegment(compactor bool) (uint32, error) {
	keep := 1
	if compactor {
		keep = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for turn := s.begun + 1; len(s.ready) <= keep; {
		if compactor { // it is the maintainer: nobody else makes segments
			return 0, ErrFull
		}
		if s.ended >= turn {
			if s.full {
				return 0, ErrFull
			}
			turn = s.begun + 1
		}
		s.poke()
		s.change.Wait()
	}
	last := len(s.ready) - 1
	n := s.ready[last]
	s.ready = s.ready[:last]
	s.segments[n].state.Store(segOpen)
	if last < s.target/2 {
		s.poke()
	}
	return n, nil
}

// grow takes memory for one more segment and makes it ready.
func (s *Store) grow() error {
	if !s.mayGrow(SegmentSize) {
		return ErrFull
	}
	n, ok := s.takeVoid()
	if !ok {
		return ErrFull
	}
	if err := s.memory.allocate(s.dataOffset+int64(n)*SegmentSize, SegmentSize); err != nil {
		// Part of it may have been taken.
		err = errors.Join(err, s.memory.punch(s.dataOffset+int64(n)*SegmentSize, SegmentSize))
		s.mu.Lock()
		s.void = append(s.void, n)
		s.mu.Unlock()
		return err
	}
	s.backed.Add(1)
	s.notePeak()
	s.makeReady(n)
	return nil
}

func (s *Store) takeVoid() (uint32, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.void) - 1; last >= 0 {
		n := s.void[last]
		s.void = s.void[:last]
		return n, true
	}
	if s.fresh == uint64(len(s.segments)) {
		return 0, false
	}
	s.fresh++
	return uint32(s.fresh - 1), true
}

func (s *Store) makeReady(n uint32) {
	s.segments[n].state.Store(segReady)
	s.mu.Lock()
	s.ready = append(s.ready, n)
	s.change.Broadcast()
	s.mu.Unlock()
}

// release gives the memory of an empty segment back to the machine.
func (s *Store) release(n uint32) error {
	if err := s.memory.punch(s.dataOffset+int64(n)*SegmentSize, SegmentSize); err != nil {
		return err
	}
	s.segments[n].state.Store(segVoid)
	s.backed.Add(-1)
	s.mu.Lock()
	s.void = append(s.void, n)
	s.mu.Unlock()
	return nil
}

func fill(p []byte, b byte) {
	if b == 0 {
		clear(p)
		return
	}
	for i := range p {
		p[i] = b
	}
}
