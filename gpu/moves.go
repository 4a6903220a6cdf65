// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

// leastStraight is how many bytes are worth a copy of their own between the device and where the
// batch has them: about as many as a core copies while it calls the driver.
const leastStraight = 32 << 10

// A move is one copy to or from the slot's buffer on the device.
type move struct {
	host driver.Host
	at   int // in the buffer
	// first and last say which items of the round have their pages in it, first to before last; none
	// has where it is for something else.
	first, last int
	// straight says that host is the batch's own memory, so that nobody has to copy to or from it.
	straight bool
}

// A span is objects of a round that lie close together in a region, and are copied to the device
// with what is between them.
type span struct {
	*region
	from, to    int // bytes of the region, whole sectors
	bytes       int // of the objects
	first, last int // items of the round
	at          int // in the slot's buffer on the device
}

// joined is a span and the one behind it as one.
func (a span) joined(b span) span {
	a.from, a.to, a.bytes, a.last = min(a.from, b.from), max(a.to, b.to), a.bytes+b.bytes, b.last
	return a
}

// dense reports whether a span is not much more than its objects.
func (a span) dense() bool { return a.to-a.from <= a.bytes+a.bytes/4+codec.PageSize }

// spanOf is the object of item i, which is item number k of the round.
func (s *slot) spanOf(p bulk.Piece, k int, i uint32) span {
	known := s.regions[p.Region[i]]
	if known.region == nil {
		return span{first: k, last: k + 1}
	}
	from, length := known.at+int(p.Offset[i]), int(p.Length[i])
	// The kernels read whole sectors, so those are copied; where the region ends within one, they read
	// no further than it goes.
	to := min(sectors(from+length), len(known.host.Bytes()))
	return span{region: known.region, from: from / sectorBytes * sectorBytes, to: to, bytes: length, first: k, last: k + 1}
}

// findSpans decides which objects of the round are copied straight from where they lie, and returns
// how many bytes of the others, out of bytes in all, are to be gathered.
func (s *slot) findSpans(p bulk.Piece, bytes int) (gathered int) {
	s.spans = s.spans[:0]
	if s.path != Straight {
		return bytes
	}
	var all, open span // of the whole round, in whatever order its objects lie; and of the items before the one that is looked at
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

// keepSpan notes a span that is worth a copy.
func (s *slot) keepSpan(a span) {
	if a.region != nil && a.bytes >= leastStraight {
		s.spans = append(s.spans, a)
	}
}

// placeSpans puts the spans behind what is gathered, unless there is no room for them.
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

// movePages adds how the pages of the round travel, the first of which is at at in the device's
// buffer: between the device and the batch's own memory, run by run, where that is registered and
// enough of them are neighbours, and through the slot's memory, at the same place, where not.
func (s *slot) movePages(moves []move, p bulk.Piece, staging driver.Host, at int) []move {
	staged := 0 // the first that no move has yet
	for first := 0; first < len(s.items); {
		last := first + 1
		for last < len(s.items) && slotOf(p, s.items[last]) == slotOf(p, s.items[last-1])+1 {
			last++
		}
		if n := (last - first) * codec.PageSize; s.pages.region != nil && n >= leastStraight {
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

// slotOf is the number of item i's page.
func slotOf(p bulk.Piece, i uint32) int {
	if p.Slot == nil {
		return int(i)
	}
	return int(p.Slot[i])
}
