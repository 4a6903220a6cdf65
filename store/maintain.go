// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// The maintainer is one goroutine, off the page path. It keeps a reserve of
// segments with memory, gives empty ones back, clears objects that a reader held
// up, and compacts. It sleeps until it is poked, or until there is a reason to
// look again.

// How often it looks again, by reason.
const (
	heldUpEvery  = 20 * time.Millisecond  // a reader held up clearing, or a worker sealing
	settleEvery  = 200 * time.Millisecond // garbage waits for writes to pause
	compactEvery = 2 * time.Millisecond   // pause two slices of compaction that writes wait for
	turnEvery    = 100 * time.Microsecond // pause two turns of what none waits for
)

// turn is how long a pass goes on with work that no request waits for. It runs at the priority of
// requests, and the kernel lets a thread that a request wakes wait for a thread of its own
// priority.
const turn = 50 * time.Microsecond

// turnEnds reports whether the pass has used up its turn.
func (s *Store) turnEnds() bool { return time.Now().After(s.turnEnd) }

func (s *Store) poke() {
	s.sleeping.Store(false)
	select {
	case s.wake <- struct{}{}:
	default: // it will wake anyway
	}
}

func (s *Store) maintain() {
	defer close(s.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.wake:
		case <-timer.C:
		}
		s.sleeping.Store(true) // before the pass: what happens during it may be too late for it
		again := s.pass(turn)
		if again == 0 {
			again = time.Hour
		} else {
			s.sleeping.Store(false)
		}
		timer.Reset(min(again, s.ageSome())) // to wake for ages is no reason to stay awake for the rest
	}
}

// pass does what there is to do, a bounded amount, but begins on what no request waits for only
// for so long, and says when to look again, 0 for not before the next poke.
func (s *Store) pass(long time.Duration) time.Duration {
	s.passMu.Lock()
	defer s.passMu.Unlock()
	s.turnEnd = time.Now().Add(long)
	s.mu.Lock()
	s.begun++
	turn := s.begun
	s.mu.Unlock()

	settled := s.settleIdle(false)
	idle := s.paused(time.Now())
	s.recycle()
	s.idx.grow()
	soon, denied := s.refill()
	s.writtenBack.haveRoom(s)
	squeezed, over := s.shrinkToLimit()
	denied = denied || over
	given, gives := s.idx.giveBackSome(denied)
	again := soonest(given, s.sweepSome(), soon, squeezed, s.unclusterSome(denied), s.shrink(idle), s.compactIdle(idle))
	if !settled || s.openMayBeEmpty.Load() {
		again = soonest(again, heldUpEvery)
	}

	short := denied && !gives && s.reserve() <= s.keptReady() && s.unswept.Load() == 0 && !s.recountEnds()
	full := short && !s.clusters.pass.under
	relief := short && s.cfg.OnFull != FullError && s.cfg.MakeRoom != nil && s.cfg.MakeRoom()
	s.mu.Lock()
	s.ended = turn
	s.full.Store(full)
	s.denied.Store(short)
	s.relief.Store(relief)
	s.mu.Unlock()
	return soonest(again, s.noteFill())
}

// soonest is the shortest of some times to look again, where 0 stands for never.
func soonest(times ...time.Duration) (least time.Duration) {
	for _, d := range times {
		if d != 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// paused reports whether nothing was written for a while.
func (s *Store) paused(now time.Time) bool {
	if writes := s.writes(); writes != s.written {
		s.written, s.lastWrite = writes, now
	}
	return now.Sub(s.lastWrite) >= settleEvery
}

// settleIdle frees what idle workers could not free at their release, because a
// reader was in the way. It seals their open segments that hold nothing, or, with
// all, every one: when there is no other memory, only the compactor can use what is
// left in them, and it takes sealed segments only. It reports whether nothing is left
// to free. Where a segment may lose its last object by what is freed here, or belongs
// to a busy worker, the pass is told to look again.
func (s *Store) settleIdle(all bool) bool {
	done, maybeEmpty := true, s.openMayBeEmpty.Swap(false)
	settle := func(w *Worker) {
		done = w.reclaim(false) && done
		if w.dead() || all {
			w.seal()
		}
	}
	for _, w := range s.workers[:len(s.workers)-1] {
		if w.busy.CompareAndSwap(false, true) {
			settle(w)
			w.busy.Store(false)
		} else if maybeEmpty {
			s.openMayBeEmpty.Store(true)
		}
	}
	if c := s.compactor(); c.reclaim(false) && c.dead() {
		c.seal()
	}
	return done
}

// recycle makes empty segments ready while the reserve is short.
func (s *Store) recycle() {
	for s.reserve() < s.target() {
		n, ok := s.takeEmpty()
		if !ok {
			return
		}
		s.reuse(n)
	}
}

// shrink gives the memory of empty segments back to the machine: what is beyond
// a second reserve at once, the rest when writes pause, since a storm of
// overwrites would take it again right away. So it does with a reserve that has
// become too large for what is stored.
func (s *Store) shrink(idle bool) time.Duration {
	keep := s.target()
	if idle {
		keep = 0
	}
	for s.emptySegments() > keep {
		n, ok := s.takeEmpty()
		if !ok {
			return 0
		}
		if s.release(n, segEmpty, 0) != nil { // still ours: use it
			s.reuse(n)
			return settleEvery
		}
		if s.turnEnds() {
			return turnEvery
		}
	}
	if s.emptySegments() > 0 {
		return settleEvery
	}
	return s.shrinkReserve(idle)
}

func (s *Store) shrinkReserve(idle bool) time.Duration {
	for s.reserve() > s.target() {
		if !idle {
			return settleEvery
		}
		if !s.cedeSegment(0) {
			return settleEvery
		}
	}
	return 0
}

func (s *Store) takeEmpty() (uint32, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.empty) - 1
	if last < 0 {
		return 0, false
	}
	n := s.empty[last]
	s.empty = s.empty[:last]
	return n, true
}

func (s *Store) emptySegments() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.empty)
}

// refill brings the reserve to its target: with fresh memory, or by compaction
// where the limit or the machine allows none. The rounds of compaction are
// bounded, because writers may be waiting for the answer. It reports whether fresh
// memory was denied and compaction made none either.
func (s *Store) refill() (again time.Duration, denied bool) {
	for rounds := 0; s.reserve() < s.target() && rounds < squeezeRounds; {
		if s.grow() == nil {
			if s.reserve() > 1 && s.turnEnds() { // after one, however long the pass took before
				return turnEvery, false
			}
			continue
		}
		denied = true
		if s.reserve() <= s.keptReady() {
			s.settleIdle(true)
			s.recycle()
		}
		if emptied, stuck := s.compact(compactSlice, worthMoving); emptied+stuck == 0 {
			freed, more := s.recountSome(recountAtOnce, drainFor)
			if more {
				again = compactEvery
			}
			if freed == 0 {
				return again, denied
			}
		}
		s.recycle()
		s.idx.grow() // before the writers that wait for segments take them
		if s.reserve() > s.keptReady() {
			return compactEvery, false // enough for the writers that wait, though others may take it
		}
		rounds++
	}
	return 0, denied
}

// squeezeRounds bounds what a pass compacts where memory is short: a quarter of a
// gibibyte, some tenths of a second.
const squeezeRounds = 64

func (s *Store) reserve() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ready)
}

// compactIdle compacts a few segments when garbage is worth it: at once where it is much, and
// down to little once writes pause.
func (s *Store) compactIdle(idle bool) time.Duration {
	garbage, live := s.garbage()
	switch {
	case garbage > live/24:
	case garbage <= live/50:
		return 0
	case !idle:
		return settleEvery
	}
	more := s.compactOne()
	for n := 1; n < compactSlice && more && !s.turnEnds(); n++ {
		more = s.compactOne()
	}
	again := turnEvery
	if !more {
		freed, more := s.recountSome(recountSlice, 0)
		switch {
		case freed == 0 && !more:
			return 0
		case s.recount.next == s.image.IndexPages: // it waits for workers
			again = compactEvery
		}
	}
	s.recycle()
	return again
}

// garbage estimates the bytes of used segments that hold nothing, less their tails and what the
// open segments may still take, and tells the bytes of objects.
func (s *Store) garbage() (garbage, live int64) {
	s.mu.Lock()
	spare := int64(len(s.ready)+len(s.empty)+len(s.workers)) * image.SegmentSize
	s.mu.Unlock()
	for _, o := range []openSegment{s.writtenBack.batch.open, s.writtenBack.batch.spare} {
		if o.end != 0 {
			spare += image.SegmentSize
		}
	}
	live = int64(s.footprint())
	return s.backedBytes() - spare - s.tails.Load() - live, live
}
