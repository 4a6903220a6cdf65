// SPDX-License-Identifier: Apache-2.0

package store

import (
	"runtime"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// A process that died leaves objects that no entry names. To find them each
// segment must be walked, a cache miss an object, which takes too long before pages
// are served. So Open leaves the segments it finds unswept, reads go on in them, and
// the maintainer sweeps them afterwards. One rule makes that simple: no entry that
// points into an unswept segment is replaced before the segment is swept. So an
// object there that no entry names was dead at Open, has no readers, and is cleared
// by the sweep alone.

const sweepSlice = 16 // segments a pass sweeps, about a millisecond

// sweepSome sweeps a slice of what Open left. The caller holds passMu.
func (s *Store) sweepSome() time.Duration {
	for swept := 0; s.unswept.Load() > 0 && s.sweepNext > 0; swept++ {
		if swept == sweepSlice {
			return compactEvery
		}
		s.sweepNext--
		s.sweep(s.sweepNext)
	}
	return 0
}

// sweepUnder sweeps the segment that the entry of a page points into, so that the
// entry may be replaced. Entries that come after it point into segments that were
// filled since Open.
func (s *Store) sweepUnder(page uint64) {
	if s.unswept.Load() == 0 {
		return
	}
	if e := s.idx.load(page); e.Object() && e.Valid(s.image.Segments) {
		s.sweep(e.Segment())
	}
}

// sweep clears what is dead in segment n, if it is unswept, or waits until another
// goroutine has done so.
func (s *Store) sweep(n uint64) {
	g := s.segment(n)
	for !g.turn(segUnswept, segSweeping) {
		if g.state() != segSweeping {
			return
		}
		invariant.Point("another sweeps")
		runtime.Gosched()
	}
	s.noteTail(n, s.clearDead(n))
	g.turn(segSweeping, segSealed)
	s.unswept.Add(-1)
}

// clearDead clears the objects of a segment that no entry names, and what was
// begun behind the last. A damaged header derails the walk, which would then
// clear what is alive: so it has to meet all that the index has there first. It
// returns the tail of the segment.
func (s *Store) clearDead(n uint64) (tail uint64) {
	end, live := n*image.SegmentSize, int64(0)
	for where := range s.objects(n) {
		h := s.image.HeaderAt(where)
		end = where + uint64(image.Footprint(int(h.Length)))
		if _, e := s.namer(where, h); e != 0 && e.Length() == int(h.Length) {
			live += int64(image.Footprint(int(h.Length)))
		}
	}
	if live != s.segment(n).live() {
		return 0
	}
	clear(s.image.SegmentBytes(n)[end-n*image.SegmentSize:])
	invariant.Point("segment's end swept")
	for where := range s.objects(n) {
		h := s.image.HeaderAt(where)
		if s.named(where, h) {
			continue
		}
		invariant.Point("dead object to be swept")
		h.Checksum = 0
		fill(s.image.Payload(where, int(h.Length)), invariant.Freed)
	}
	if tail = (n+1)*image.SegmentSize - end; tail >= uint64(image.Footprint(image.MaxPayload)) {
		return 0 // the segment was open
	}
	return tail
}

// named reports whether an entry of an object's pages points at the object.
func (s *Store) named(where uint64, h *image.Header) bool {
	_, e := s.namer(where, h)
	return e != 0
}

// namer is the first page whose entry points at the object with that header, and the entry; 0 where
// none does.
func (s *Store) namer(where uint64, h *image.Header) (page uint64, e image.Entry) {
	pages := uint64(1)
	if h.Codec == codec.PageDenseCluster {
		pages = image.ClusterPages
	}
	for page = uint64(h.Page); page < min(uint64(h.Page)+pages, s.image.Pages); page++ {
		if e = s.idx.load(page); e.Object() && e.Where() == where {
			return page, e
		}
	}
	return page, 0
}
