// SPDX-License-Identifier: Apache-2.0

package store

import (
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// A memory limit that was lowered below what is taken leaves no segment for the smaller objects
// that would bring the use below it. So packing takes segments beyond such a limit, and compaction
// gives back what the old objects leave. The use rises by a part of what is stored at the most. So
// do stubs where they have no room below a limit.

// overdraft is the part of what is stored that may be garbage before packing waits for compaction,
// which empties segments with more than worthMoving of garbage.
const overdraft = 24

// overdraw takes a segment for a worker that packs, beyond a memory limit that is below what is
// taken. It fails with ErrFull once compaction gives nothing back, and where the machine has no
// memory. The caller holds no page's lock, and has nothing retired.
func (s *Store) overdraw() (uint32, error) {
	s.passMu.Lock()
	defer s.passMu.Unlock()
	return s.takeBeyond()
}

// takeBeyond does what overdraw does, for a caller that holds passMu.
func (s *Store) takeBeyond() (uint32, error) {
	for garbage, live := s.garbage(); garbage > live/overdraft; garbage, live = s.garbage() {
		s.settleIdle(true)
		if s.recycle(); s.reserve() == 0 { // the compactor needs one
			s.notePeak(s.charged.Add(image.SegmentSize))
			if s.growCharged() != nil { // the machine has no memory
				return 0, ErrFull
			}
		}
		if emptied, stuck := s.compact(compactSlice, worthMoving); emptied+stuck == 0 {
			return 0, ErrFull
		}
		s.giveBackEmpty()
	}
	n, ok := s.takeVoid()
	if !ok {
		return 0, ErrFull
	}
	s.notePeak(s.charged.Add(image.SegmentSize))
	if s.allot(n) != nil {
		return 0, ErrFull
	}
	invariant.Point("segment taken")
	s.segment(uint64(n)).turn(segVoid, segOpen)
	s.tidying.forget(n)
	return n, nil
}

// roomBeyond takes a segment for stubs where the memory limit allows none and compaction gives
// none, as where a process has died that had one. Without it the store would stay full, however
// much room the backing device has.
func (s *Store) roomBeyond() error {
	s.passMu.Lock()
	defer s.passMu.Unlock()
	limit := s.limit.Load()
	switch {
	case s.writtenBack.haveRoom(s):
		return nil
	case limit == 0 || uint64(s.used()+image.SegmentSize) <= limit: // the machine has no memory
		return ErrFull
	}
	n, err := s.takeBeyond()
	if err != nil {
		return err
	}
	s.writtenBack.batch.spare = openAt(n)
	s.writtenBack.short.Store(false)
	s.writtenBack.haveRoom(s)
	return nil
}
