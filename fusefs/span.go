// SPDX-License-Identifier: Apache-2.0

package fusefs

import "github.com/zramfs/zramfs/store"

const pageSize = store.PageSize

// clip returns how many of the n bytes from off on lie below size. off + n may overflow.
func clip(off, n, size uint64) uint64 {
	if off >= size {
		return 0
	}
	return min(n, size-off)
}

// spans walks a byte range page by page: for s := spansOf(off, n); s.next(); {…}. After next has
// returned true, bytes lo to hi of the range are bytes of page, from off on. It is a value without
// pointers, so a walk allocates nothing.
type spans struct {
	page   uint64 // number of the page
	off    int    // first byte within the page
	lo, hi int    // the same bytes within the range

	start uint64 // of the range
	size  int    // of the range
}

// spansOf returns the walk over n bytes from off on. off + n must not overflow.
func spansOf(off uint64, n int) spans { return spans{start: off, size: n} }

// next moves on to the next page and reports whether there is one.
func (s *spans) next() bool {
	if s.hi >= s.size {
		return false
	}
	at := s.start + uint64(s.hi)
	s.page, s.off = at/pageSize, int(at%pageSize)
	s.lo = s.hi
	s.hi += min(pageSize-s.off, s.size-s.lo)
	return true
}

// A part is a range of bytes of one page; it is empty when n is 0.
type part struct {
	page   uint64
	off, n int
}

// A hole is a byte range to be freed, taken apart: the whole pages in it, and the parts of a page
// before and behind them. A range within one page is all head.
type hole struct {
	head         part
	first, count uint64 // whole pages
	tail         part
}

// holeOf takes n bytes from off on apart. off + n must not overflow.
func holeOf(off, n uint64) hole {
	end := off + n
	first, last := (off+pageSize-1)/pageSize, end/pageSize
	if first > last { // both ends lie inside one page
		return hole{head: part{page: off / pageSize, off: int(off % pageSize), n: int(n)}}
	}
	return hole{
		head:  part{page: off / pageSize, off: int(off % pageSize), n: int(first*pageSize - off)},
		first: first,
		count: last - first,
		tail:  part{page: last, n: int(end - last*pageSize)},
	}
}
