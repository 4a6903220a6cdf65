// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync/atomic"

	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// A segment is in one of these states; the package comment draws who moves it.
const (
	segVoid     uint64 = iota // no memory
	segReady                  // memory, all zero, in Store.ready
	segOpen                   // a worker appends to it
	segSealed                 // full
	segMoving                 // the compactor moves its objects away, or packing looks at them
	segEmpty                  // its last object is gone, in Store.empty
	segUnswept                // full, found by Open
	segSweeping               // what was dead at Open is being cleared
	segStuck                  // full, and compaction could not empty it: see recount
	segCounted                // stuck, and being recounted

	stateBits = 8
	liveBits  = 32
	tailShift = stateBits + liveBits
)

// A segment is its state, the footprints of the objects in it that are not
// freed, and its tail, in one word: one load sees both that it is sealed and that it has no
// objects. The bytes grow only while it is open.
//
// The tail is the end of a full segment that was too short for a cluster. Compaction would gain
// nothing by it: the same clusters leave as much elsewhere.
type segment struct {
	word atomic.Uint64
}

func (g *segment) state() uint64 { return g.word.Load() & (1<<stateBits - 1) }

// live is in bytes.
func (g *segment) live() int64 { return liveOf(g.word.Load()) }

func liveOf(word uint64) int64 { return int64(word >> stateBits & (1<<liveBits - 1)) }

// tailOf is in bytes.
func tailOf(word uint64) int64 { return int64(word >> tailShift) }

// withoutTail is the state and the bytes of objects alone.
func withoutTail(word uint64) uint64 { return word & (1<<tailShift - 1) }

// garbage is what of a full segment compaction can gain, in bytes.
func (g *segment) garbage() int64 {
	word := g.word.Load()
	return image.SegmentSize - liveOf(word) - tailOf(word)
}

// add counts n more bytes of objects and returns the word without its tail.
func (g *segment) add(n int) (word uint64) { return withoutTail(g.word.Add(uint64(n) << stateBits)) }

// segment is the nth. Neighbours are filled by different workers at the same time,
// so they lie on different cache lines: eight of them exchange places with what is
// eight apart.
func (s *Store) segment(n uint64) *segment {
	return &s.segments[n&^63|n&7<<3|n>>3&7]
}

// turn changes the state, if it is from.
func (g *segment) turn(from, to uint64) bool {
	for {
		word := g.word.Load()
		if word&(1<<stateBits-1) != from {
			return false
		}
		if g.word.CompareAndSwap(word, word-from+to) {
			return true
		}
	}
}

// openSegment is where a worker appends. Its zero value has no room.
type openSegment struct {
	next, end uint64 // distances from the first segment, bytes
}

// rest is how many bytes have room.
func (o openSegment) rest() int64 { return int64(o.end - o.next) }

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
	invariant.Point("room found")
	w.s.segment(where / image.SegmentSize).add(n)
	return where, nil
}

// nextSegment seals the open segment and opens another. It frees what the worker has
// retired first: that may empty a segment.
func (w *Worker) nextSegment() error {
	w.reclaim(true)
	if w.open.end != 0 {
		w.s.noteTail(w.open.end/image.SegmentSize-1, w.open.end-w.open.next)
	}
	w.seal()
	n, err := w.takeSegment()
	if err != nil {
		return err
	}
	w.open = openAt(n)
	return nil
}

func openAt(n uint32) openSegment {
	next := uint64(n) * image.SegmentSize
	return openSegment{next, next + image.SegmentSize}
}

// seal gives up the open segment.
func (w *Worker) seal() {
	if w.open.end == 0 {
		return
	}
	n := w.open.end/image.SegmentSize - 1
	w.open = openSegment{}
	w.s.segment(n).turn(segOpen, segSealed)
	w.s.emptied(n)
}

// noteTail notes the tail of a segment that is about to be sealed, unless a page by itself could
// leave as much.
func (s *Store) noteTail(n, tail uint64) {
	if tail > image.MaxFootprint {
		s.segment(n).word.Add(tail << tailShift)
		s.tails.Add(int64(tail))
	}
}

// dead reports whether the worker has written to its open segment and nothing
// of it is left.
func (w *Worker) dead() bool {
	return w.open.end != 0 && w.open.next+image.SegmentSize != w.open.end &&
		w.s.segment(w.open.end/image.SegmentSize-1).live() == 0
}

// clearObject clears the object of an unreachable entry and gives its space up. It
// reports whether that leaves a segment that a worker has open without objects.
func (s *Store) clearObject(e image.Entry) (openMayBeEmpty bool) {
	where := e.Where()
	invariant.Point("object to be cleared")
	fill(s.image.Payload(where, e.Length()), invariant.Freed)
	invariant.Point("object cleared but for its header")
	s.image.HeaderAt(where).Checksum = 0
	invariant.Point("object cleared")
	n := e.Segment()
	word := s.segment(n).add(-image.Footprint(e.Length()))
	switch word {
	case segSealed, segStuck, segCounted:
		s.emptied(n)
	}
	return word == segOpen
}

// emptied queues a segment that is full and without objects. The worker that
// seals it and the one that frees its last object may both find that it is; one
// of them wins.
func (s *Store) emptied(n uint64) {
	g := &s.segment(n).word
	word := g.Load()
	switch withoutTail(word) {
	case segSealed, segStuck, segCounted:
		if g.CompareAndSwap(word, segEmpty) {
			s.tails.Add(-tailOf(word))
			s.queueEmpty(n)
			s.poke()
		}
	}
}

func (s *Store) queueEmpty(n uint64) {
	s.mu.Lock()
	s.empty = append(s.empty, uint32(n))
	s.mu.Unlock()
}

// takeSegment takes a ready segment, waiting for the maintainer while it can
// make one. The last ready one is kept for the compactor, which needs it to
// freeEntry others, and writes leave one more for packing. It fails with ErrFull. The caller holds
// no page's lock, and has nothing retired.
func (w *Worker) takeSegment() (uint32, error) {
	s := w.s
	if w == s.compactor() { // it is the maintainer, which makes segments
		if n, ok := s.tryTake(0); ok {
			return n, nil
		}
		return 0, ErrFull
	}
	if n, ok := w.tryTake(); ok {
		return n, nil
	}
	w.parked.Store(true)
	defer w.parked.Store(false)
	if w.packs && s.over() {
		return s.overdraw()
	}
	crowded := s.waiting.Add(1) > s.mayWait
	defer s.waiting.Add(-1)
	w.stepAside(true)
	for wait := w.waitForMemory(crowded); ; wait.pause() {
		if n, ok := w.tryTake(); ok {
			return n, nil
		}
		if wait.over() { // only after a look: who was not scheduled has not waited
			return 0, ErrFull
		}
	}
}

// keptReady is how many ready segments a write leaves: the compactor's, one for what makes room for
// writes, which is stubs that have none and pages that others left alone in clusters, and one for
// what packs, which brings a full store below its limit.
func (s *Store) keptReady() int {
	n := 1
	if s.writtenBack.short.Load() || s.clusters.left.Load() > 0 {
		n++
	}
	if s.keepsForPacking() {
		n++
	}
	return n
}

// keepsForPacking reports whether a segment is a small part of the store.
func (s *Store) keepsForPacking() bool { return s.backedBytes() >= reserveShare*image.SegmentSize }

// tryTake takes a ready segment that the worker may have. The caller holds no page's lock.
func (w *Worker) tryTake() (n uint32, ok bool) {
	s := w.s
	if !w.gathers || !s.keepsForPacking() {
		return s.tryTake(s.keptReady())
	}
	s.passMu.Lock()
	defer s.passMu.Unlock()
	keep := s.keptReady() - 1
	if s.compactor().open.rest() >= image.SegmentSize/2 {
		keep-- // compaction goes on without: what is packed leaves little to move
	}
	return s.tryTake(keep)
}

// tryTake takes a ready segment unless only keep are left.
func (s *Store) tryTake(keep int) (n uint32, ok bool) {
	s.mu.Lock()
	last := len(s.ready) - 1
	if ok = last >= keep; ok {
		n = s.ready[last]
		s.ready = s.ready[:last]
		s.segment(uint64(n)).turn(segReady, segOpen)
	}
	s.mu.Unlock()
	if ok && last <= s.target()/2 {
		s.poke()
	}
	return n, ok
}

// grow takes memory for one more segment and makes it ready.
func (s *Store) grow() error {
	if !s.charge(image.SegmentSize) {
		return ErrFull
	}
	return s.growCharged()
}

// growCharged does it with memory that is charged already. It takes one segment at a time: the
// caller holds passMu, or makes the store.
func (s *Store) growCharged() error {
	n, ok := s.takeVoid()
	if !ok {
		s.charged.Add(-image.SegmentSize)
		return ErrFull
	}
	if err := s.allot(n); err != nil {
		return err
	}
	invariant.Point("segment taken")
	s.makeReady(n, segVoid)
	return nil
}

// allot takes the memory of a void segment, which is charged and goes back to the void ones after
// an error.
func (s *Store) allot(n uint32) error {
	s.takeAt = s.image.SegmentAt(uint64(n))
	if err := s.firmly(s.takeSegment); err != nil {
		s.charged.Add(-image.SegmentSize)
		s.mu.Lock()
		s.void = append(s.void, n)
		s.mu.Unlock()
		return err
	}
	return nil
}

// firmly calls what takes memory from the machine.
func (s *Store) firmly(take func() error) error {
	if s.cfg.AllocHook == nil {
		return take()
	}
	return s.cfg.AllocHook(take)
}

func (s *Store) takeVoid() (uint32, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.void) - 1; last >= 0 {
		n := s.void[last]
		s.void = s.void[:last]
		return n, true
	}
	if s.fresh == s.image.Segments {
		return 0, false
	}
	s.fresh++
	return uint32(s.fresh - 1), true
}

// makeReady hands out a segment whose memory is clear.
func (s *Store) makeReady(n uint32, from uint64) {
	s.segment(uint64(n)).turn(from, segReady)
	s.tidying.forget(n)
	s.mu.Lock()
	s.ready = append(s.ready, n)
	s.mu.Unlock()
}

// reuse clears an empty segment and makes it ready.
func (s *Store) reuse(n uint32) {
	clear(s.image.SegmentBytes(uint64(n)))
	invariant.Point("segment cleared")
	s.makeReady(n, segEmpty)
}

// release gives the memory of a segment without objects back to the machine.
// Of its charge, keep bytes stay with the caller.
func (s *Store) release(n uint32, from uint64, keep int64) error {
	if err := s.memory.punch(s.image.SegmentAt(uint64(n)), image.SegmentSize); err != nil {
		return err
	}
	invariant.Point("segment given back")
	s.segment(uint64(n)).turn(from, segVoid)
	s.charged.Add(keep - image.SegmentSize)
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

// cedeSegment gives a ready segment back to the machine for something else that
// takes keep bytes, when the memory limit allows no more. It leaves what a write leaves. The caller
// holds passMu.
func (s *Store) cedeSegment(keep int64) bool {
	n, ok := s.tryTake(s.keptReady())
	if !ok {
		return false
	}
	if s.release(n, segOpen, keep) != nil {
		s.makeReady(n, segOpen)
		return false
	}
	return true
}
