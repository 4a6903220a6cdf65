// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// This file has the settings and the work that an operator may ask for while requests are served.
// The image has none of them: a store that Open makes begins with its Config.

// Stall lets writes wait as FullStall says, where that is chosen, or no more: those that wait
// then fail. A store begins without, so that a server can carry out what its predecessor left, and
// end, without a wait. With on, the store forgets that it found no memory until then, since
// Config.Relief may make room from now on. It may be called at any time.
func (s *Store) Stall(on bool) {
	s.stall.Store(on && s.cfg.OnFull == FullStall)
	if on {
		s.mu.Lock()
		s.full.Store(false)
		s.denied.Store(false)
		s.mu.Unlock()
		s.poke()
	}
}

// SetMemLimit bounds Stats.MemUsedTotal to limit bytes from now on; 0 is no limit. A limit below
// what an empty device takes to store some pages, 3 MiB at the most, counts as that: a script that
// sets 1M and runs mkswap succeeds as with kernel zram, whose limit does not count its index.
// SetMemLimit does not wait. Below what is in use it takes nothing from any page: the maintainer
// gives back what holds none and compacts, Recompress and a Clusterer go on, and until the use is
// below the limit, writes that need memory fail with ErrFull.
func (s *Store) SetMemLimit(limit uint64) {
	inForce := limit
	if limit != 0 {
		inForce = max(limit, s.leastUseful())
	}
	s.setLimit(inForce)
	s.asked.Store(limit)
	s.poke()
}

func (s *Store) setLimit(limit uint64) {
	cfg := s.cfg
	cfg.MemLimit = limit
	s.atMost.Store(int64(reserveMost(cfg)))
	s.limit.Store(limit)
	s.asked.Store(limit)
	s.limitChanged.Store(true)
}

// leastUseful is what an empty device takes, the index ahead of the first writer included, with the
// segments that writing pages needs.
func (s *Store) leastUseful() uint64 {
	ahead := uint64(0)
	if s.image.Pages*PageSize > populateUpTo {
		ahead = (1 + aheadPieces) * piecePages * (PageSize + image.EntriesPerPage) // with the ages
	}
	return uint64(fixedBytes(s.image.Geometry)) + ahead + minSegments*image.SegmentSize
}

// over reports whether more memory is taken than the limit allows: it was lowered.
func (s *Store) over() bool {
	limit := s.limit.Load()
	return limit != 0 && uint64(s.used()) > limit
}

// shrinkToLimit gives memory back while the limit is below what is taken. denied reports that it
// can do no more. The caller holds passMu.
func (s *Store) shrinkToLimit() (again time.Duration, denied bool) {
	if !s.over() {
		return 0, false
	}
	s.settleIdle(true)
	emptied, stuck := s.compact(compactSlice, worthMoving)
	s.giveBackEmpty()
	for s.over() && s.reserve() > s.target() && s.cedeSegment(0) {
		// each gives one back
	}
	if emptied+stuck > 0 || !s.over() {
		return compactEvery, false
	}
	freed, more := s.recountSome(recountAtOnce, drainFor) // or writes would wait for one under way
	switch {
	case freed > 0:
		return compactEvery, false
	case more:
		return compactEvery, true
	}
	return 0, true
}

// giveBackEmpty gives the memory of empty segments back to the machine, but for those that the
// reserve needs.
func (s *Store) giveBackEmpty() {
	s.recycle()
	for n, ok := s.takeEmpty(); ok; n, ok = s.takeEmpty() {
		if s.release(n, segEmpty, 0) != nil { // still ours: use it
			s.reuse(n)
			return
		}
	}
}

// ResetPeak makes Stats.MemUsedMax begin anew from what is in use.
func (s *Store) ResetPeak() { s.peak.Store(s.used()) }

// CompactNow moves the objects of all segments that are worth it close together, and gives the
// memory that this empties back to the machine, without regard to how much garbage there is. It
// returns the pages of memory given back; Stats.PagesCompacted counts them too. Requests go on
// pause its pieces of about a millisecond. It ends when nothing more can be gained, or once it
// could have looked at each segment twice, or between two pieces when enough, which may be nil,
// says so. It also gives pages of the index back that hold nothing, which it does not count.
func (s *Store) CompactNow(enough func() bool) (pages uint64) {
	if !s.operators.TryRLock() {
		return 0
	}
	defer s.operators.RUnlock()
	before := s.compacts.Load()
	for round, rounds := uint64(0), 2+2*s.everUsed()/compactSlice; round < rounds; round++ {
		if s.closing() || enough != nil && enough() || !s.compactPiece(round == 0) {
			break
		}
	}
	s.idx.giveBackAll(func() bool { return s.closing() || enough != nil && enough() })
	return uint64(s.compacts.Load()-before) / PageSize
}

// closing reports whether Close was called.
func (s *Store) closing() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// compactPiece compacts one slice and reports whether there may be more to gain. The first one
// begins with what idle workers have open.
func (s *Store) compactPiece(first bool) (more bool) {
	s.passMu.Lock()
	defer s.passMu.Unlock()
	if first {
		s.settleIdle(true)
	}
	emptied, stuck := s.compact(compactSlice, worthMoving)
	s.giveBackEmpty()
	return emptied+stuck > 0
}

// A coder is what a worker compresses with.
type coder struct {
	compressor codec.Compressor
	adjustable codec.Adjustable // the compressor, if it is one; else nil
}

func newCoder(a codec.Algorithm) (*coder, error) {
	c, err := a.NewCompressor()
	if err != nil {
		return nil, fmt.Errorf("make compressor: %w", err)
	}
	adjustable, _ := c.(codec.Adjustable)
	return &coder{c, adjustable}, nil
}

// Algorithm is what new pages are compressed by.
func (s *Store) Algorithm() codec.Algorithm { return *s.algorithm.Load() }

// SetAlgorithm makes a choose the codec of each page that is written from now on. Requests go on,
// and a worker finishes a page with the codec that it began with. Stored objects stay as they are
// and can be read. SetAlgorithm fails with ErrConfig for a dictionary that is not
// Config.Algorithm's, and with the errors of codec.Algorithm.NewCompressor; then nothing has
// changed. Calls must not overlap.
func (s *Store) SetAlgorithm(a codec.Algorithm) error {
	if !s.cfg.Algorithm.Reads(a) {
		return fmt.Errorf("%w: algorithm %s: the dictionary is not the one that the store was opened with", ErrConfig, a)
	}
	coders := make([]*coder, len(s.workers))
	for i := range coders {
		c, err := newCoder(a)
		if err != nil {
			return err
		}
		coders[i] = c
	}
	if present := s.cfg.Prefault; present != nil {
		present(coders)
	}
	for i, w := range s.workers {
		w.coder.Store(coders[i])
	}
	s.algorithm.Store(&a)
	return nil
}
