// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

// minStraight is the least number of bytes worth a copy of their own between the device and the
// batch's memory: about as many as a core copies during a call of the driver.
const minStraight = 32 << 10

// A move is one copy to or from the slot's buffer on the device.
type move struct {
	host driver.Host
	at   int // in the buffer
	// first and last are the items of the round whose pages it carries, first to before last; both
	// are 0 for other data.
	first, last int
	// straight: host is the batch's own memory, so the CPU copies nothing to or from it.
	straight bool
}

// A span is a group of objects of a round that lie close together in a region, and are copied to
// the device together with the gaps between them.
type span struct {
	*region
	from, to    int // bytes of the region, whole sectors
	bytes       int // of the objects
	first, last int // items of the round
	at          int // in the slot's buffer on the device
}

// joined returns the span that covers both.
func (a span) joined(b span) span {
	a.from, a.to, a.bytes, a.last = min(a.from, b.from), max(a.to, b.to), a.bytes+b.bytes, b.last
	return a
}

// dense reports whether a span is not much larger than its objects.
func (a span) dense() bool { return a.to-a.from <= a.bytes+a.bytes/4+codec.PageSize }

// spanOf returns the span of the object of item i, item number k of the round.
func (s *slot) spanOf(p bulk.Piece, k int, i uint32) span {
	known := s.regions[p.Region[i]]
	if known.region == nil {
		return span{first: k, last: k + 1}
	}
	from, length := known.at+int(p.Offset[i]), int(p.Length[i])
	// The kernels read whole sectors, so whole sectors are copied; a sector cut by the region's end
	// is read only up to there.
	to := min(sectors(from+length), len(known.host.Bytes()))
	return span{region: known.region, from: from / sectorBytes * sectorBytes, to: to, bytes: length, first: k, last: k + 1}
}

// findSpans selects objects of the round to be copied straight from their region, and returns how
// many of the bytes are left to gather.
func (s *slot) findSpans(p bulk.Piece, bytes int) (gathered int) {
	s.spans = s.spans[:0]
	if s.path != Straight {
		return bytes
	}
	var all, open span // of the whole round, in any order of its objects; of the last items
	one := true
	for k, i := range s.items {
		next := s.spanOf(p, k, i)
		if k == 0 {
			all, open = next, next
			continue
		}
		one = one && next.region == all.region
		all = all.joined(next)
		if both := open.joined(next); next.region == open.region && both.dense() {
			open = both
			continue
		}
		s.keepSpan(open)
		open = next
	}
	s.keepSpan(open)
	if one && all.dense() {
		s.spans = s.spans[:0]
		s.keepSpan(all)
	}
	return s.placeSpans(bytes)
}

// keepSpan keeps a span that is worth a copy.
func (s *slot) keepSpan(a span) {
	if a.region != nil && a.bytes >= minStraight {
		s.spans = append(s.spans, a)
	}
}

// placeSpans places the spans behind the gathered objects in the device's buffer, if there is room.
func (s *slot) placeSpans(bytes int) (gathered int) {
	gathered = bytes
	for _, a := range s.spans {
		gathered -= a.bytes
	}
	at := s.readSize(len(s.items), gathered)
	for k := range s.spans {
		a := &s.spans[k]
		a.at = at
		at += sectors(a.to - a.from)
	}
	if at > len(s.in.Bytes()) { // the device's buffer is as large
		s.spans = s.spans[:0]
		return bytes
	}
	return gathered
}

// movePages adds the moves of the round's pages, which begin at at in the device's buffer. Runs of
// neighbours in registered memory move between the device and the batch's memory; others through
// the slot's memory, at the same offset.
func (s *slot) movePages(moves []move, p bulk.Piece, staging driver.Host, at int) []move {
	staged := 0 // the first item without a move
	for first := 0; first < len(s.items); {
		last := first + 1
		for last < len(s.items) && slotOf(p, s.items[last]) == slotOf(p, s.items[last-1])+1 {
			last++
		}
		if n := (last - first) * codec.PageSize; s.pages.region != nil && n >= minStraight {
			moves = stage(moves, staging, at, staged, first)
			from := s.pages.at + slotOf(p, s.items[first])*codec.PageSize
			moves = append(moves, move{s.pages.host.Slice(from, n), at + first*codec.PageSize, first, last, true})
			staged = last
		}
		first = last
	}
	return stage(moves, staging, at, staged, len(s.items))
}

// stage adds the move of pages through the slot's memory.
func stage(moves []move, staging driver.Host, at, first, last int) []move {
	if first == last {
		return moves
	}
	off := at + first*codec.PageSize
	return append(moves, move{staging.Slice(off, (last-first)*codec.PageSize), off, first, last, false})
}

// slotOf returns the number of item i's page.
func slotOf(p bulk.Piece, i uint32) int {
	if p.Slot == nil {
		return int(i)
	}
	return int(p.Slot[i])
}
