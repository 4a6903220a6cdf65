// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// Check walks the whole image and reports each violation of the invariants
// that the package comment numbers. Requests wait until it is done: it is for
// tests and for the operator, not for the page path.
func (s *Store) Check(report func(error)) {
	s.writtenBack.batch.writing.Lock() // blocks that are being written have no stub yet
	defer s.writtenBack.batch.writing.Unlock()
	s.quiesce()
	defer s.resume()
	for n := range s.image.Segments {
		s.sweep(n)
	}
	c := check{s: s, report: report, live: make([]int64, s.image.Segments), objects: make([]int, s.image.Segments), named: map[uint32]uint64{}}
	c.count.keep(make([]atomic.Uint64, TotalsRow))
	c.superblock()
	c.index()
	c.walk()
	c.lists()
	c.same()
	c.counters()
	c.blocks()
}

type check struct {
	s       *Store
	report  func(error)
	live    []int64 // bytes of objects by segment, as the index has it
	objects []int   // objects by segment, as the index has it
	refs    [image.SameWords]uint32
	named   map[uint32]uint64 // pages, by the block of the backing device that their stubs name
	count   counters
}

func (c *check) fail(rule int, format string, args ...any) {
	c.report(fmt.Errorf("invariant %d: %s", rule, fmt.Sprintf(format, args...)))
}

func (c *check) superblock() {
	b, err := image.DecodeSuperblock(c.s.image.Mem[:PageSize])
	if err != nil {
		c.fail(1, "superblock: %v", err)
	} else if b.Geometry() != c.s.image.Geometry {
		c.fail(1, "superblock: geometry differs from the one in use")
	}
}

func (c *check) index() {
	for _, twin := range c.s.idx.twins {
		for i := range twin {
			if bits, twin := c.s.idx.bitmap[i].Load(), twin[i].Load(); bits != twin {
				c.fail(2, "index pages %d to %d: the bitmap says that %#x exist, a twin %#x", 64*i, 64*i+63, bits, twin)
			}
		}
	}
	present := int64(0)
	c.s.idx.each(0, c.s.image.IndexPages-1, func(n uint64) {
		present++
		for page := n * image.EntriesPerPage; page < min((n+1)*image.EntriesPerPage, c.s.image.Pages); page++ {
			c.entry(page, c.s.idx.entry(page))
		}
	})
	if present != c.s.idx.present.Load() {
		c.fail(2, "%d index pages present, %d counted", present, c.s.idx.present.Load())
	}
}

func (c *check) entry(page uint64, e image.Entry) {
	if !e.Valid(c.s.image.Segments) {
		c.fail(2, "page %d: impossible entry %#x", page, uint64(e))
		return
	}
	c.count.add(e, +1)
	switch {
	case e.Codec() == image.SameSlot:
		c.refs[e.Value()]++
	case e.Object():
		if c.s.firstOf(page, e) {
			c.live[e.Segment()] += int64(image.Footprint(e.Length()))
			c.objects[e.Segment()]++
			if e.Clustered() {
				c.count.addObject(e, +1)
			}
		}
		c.object(page, e)
	}
}

func (c *check) object(page uint64, e image.Entry) {
	packed, err := c.s.object(page, e)
	if err != nil {
		c.fail(3, "%v", err)
		return
	}
	if e.WrittenBack() {
		c.stub(page, packed)
		return
	}
	w := c.s.compactor()
	if err := w.unpack(w.packed[:], page, e.Codec(), packed); err != nil {
		c.fail(3, "%v", err)
	}
}

func (c *check) stub(page uint64, packed []byte) {
	st, ok := image.DecodeStub(packed)
	if !ok || uint64(st.Block) >= c.s.writtenBack.blocks.end {
		c.fail(10, "page %d: impossible stub %+v", page, st)
		return
	}
	if other, twice := c.named[st.Block]; twice {
		c.fail(10, "block %d of the backing device belongs to pages %d and %d", st.Block, other, page)
	}
	c.named[st.Block] = page
}

// blocks proves that those blocks of the backing device are taken that stubs name. After damage
// further ones may be, until the store is opened again.
func (c *check) blocks() {
	b := &c.s.writtenBack.blocks
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, page := range c.named {
		if !b.has(uint64(n)) {
			c.fail(10, "block %d of the backing device holds page %d and is free", n, page)
		}
	}
	if n := uint64(len(c.named)); b.used < n || b.used > n && c.s.errors.of(checksumError).Count == 0 {
		c.fail(10, "%d blocks of the backing device are taken, stubs name %d", b.used, n)
	}
}

// walk goes through the segments in use. Since an object occupies what its
// header says, and the walk meets as many live ones as the index has, no two
// overlap.
func (c *check) walk() {
	tails := int64(0)
	for n := range c.s.image.Segments {
		tails += tailOf(c.s.segment(n).word.Load())
		state, live := c.s.segment(n).state(), c.s.segment(n).live()
		if live != c.live[n] {
			c.fail(5, "segment %d counts %d live bytes, the index %d", n, live, c.live[n])
		}
		switch state {
		case segOpen, segSealed, segStuck, segCounted:
			c.segment(n)
		case segReady:
			if !allBytes(c.s.image.SegmentBytes(n), 0) {
				c.fail(6, "segment %d is ready and not clear", n)
			}
		}
		if live != 0 && !occupied(state) {
			c.fail(4, "segment %d holds objects in state %d", n, state)
		}
	}
	if counted := c.s.tails.Load(); tails != counted {
		c.fail(5, "segments have tails of %d bytes, counted are %d", tails, counted)
	}
}

func (c *check) segment(n uint64) {
	end, met := n*image.SegmentSize, 0
	for where := range c.s.objects(n) {
		h := c.s.image.HeaderAt(where)
		end = where + uint64(image.Footprint(int(h.Length)))
		if c.s.named(where, h) {
			met++
		} else if h.Checksum != 0 || !allBytes(c.s.image.Payload(where, int(h.Length)), invariant.Freed) {
			c.fail(6, "segment %d: freed object at %d is not clear", n, where)
		}
	}
	if met != c.objects[n] {
		c.fail(4, "segment %d holds %d live objects, the index names %d", n, met, c.objects[n])
	}
	if tail := c.s.image.SegmentBytes(n)[end-n*image.SegmentSize:]; !allBytes(tail, 0) {
		c.fail(6, "segment %d: unused tail is not clear", n)
	}
}

// occupied reports whether a segment in that state holds objects, where nothing is under way.
func occupied(state uint64) bool {
	return state == segOpen || state == segSealed || state == segStuck || state == segCounted
}

func allBytes(p []byte, b byte) bool { return bytes.Count(p, []byte{b}) == len(p) }

// lists proves that each segment is where its state says, once, and that an open one is in use.
func (c *check) lists() {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	in := make([]uint32, s.image.Segments)
	for _, l := range []struct {
		list  []uint32
		state uint64
	}{{s.ready, segReady}, {s.empty, segEmpty}, {s.void, segVoid}} {
		for _, n := range l.list {
			if in[n]++; s.segment(uint64(n)).state() != l.state {
				c.fail(7, "segment %d is in the list of state %d, and in state %d", n, l.state, s.segment(uint64(n)).state())
			}
		}
	}
	backed := int64(0)
	for n := range s.image.Segments {
		state := s.segment(n).state()
		listed := !occupied(state) && uint64(n) < s.fresh
		if listed != (in[n] == 1) || in[n] > 1 {
			c.fail(7, "segment %d in state %d is listed %d times", n, state, in[n])
		}
		if state != segVoid {
			backed++
		}
		if open := c.appended(n); open != (state == segOpen) {
			c.fail(7, "segment %d is in state %d, and something appends to it: %v", n, state, open)
		}
	}
	if backed*image.SegmentSize != s.backedBytes() {
		c.fail(7, "%d segments have memory, %d bytes are counted", backed, s.backedBytes())
	}
	if taken, err := s.memory.Taken(); err != nil || taken >= 0 && taken != s.used() {
		c.fail(7, "the image takes %d bytes of memory, counted are %d (%v)", taken, s.used(), err)
	}
}

// appended reports whether a worker appends to a segment, or what writes stubs.
func (c *check) appended(n uint64) bool {
	is := func(o openSegment) bool { return o.end == (n+1)*image.SegmentSize }
	b := &c.s.writtenBack.batch
	return is(b.open) || is(b.spare) || slices.ContainsFunc(c.s.workers, func(w *Worker) bool { return is(w.open) })
}

func (c *check) same() {
	for slot, refs := range c.refs {
		if refs != c.s.same.refs[slot] {
			c.fail(8, "same-filled word %d has %d references, counted are %d", slot, refs, c.s.same.refs[slot])
		}
	}
}

func (c *check) counters() {
	st := c.s.Stats()
	for id := range st.Codecs {
		if codec.ID(id) == image.WrittenBack {
			if n := c.count.pages[id].Load(); st.WrittenBack != uint64(n) {
				c.fail(9, "%d pages are written back, counted are %d", n, st.WrittenBack)
			}
			continue
		}
		pages, bytes := uint64(c.count.pages[id].Load()), uint64(c.count.bytes[id].Load())
		if st.Codecs[id] != (CodecStats{pages, bytes}) {
			c.fail(9, "codec %v: counted %+v, found %d pages of %d bytes", codec.ID(id), st.Codecs[id], pages, bytes)
		}
	}
	if got, want := c.s.footprint(), uint64(c.count.footprint.Load()); got != want {
		c.fail(9, "objects take %d bytes, counted are %d", want, got)
	}
}
