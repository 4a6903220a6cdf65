// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math/bits"

	"github.com/zramfs/zramfs/store/internal/image"
)

// seekPages is how many index pages NextStored and NextEmpty look through at the most: those of 64
// GiB of device, some milliseconds of work.
const seekPages = 64 << 30 / PageSize / image.EntriesPerPage

// NextStored returns the first page from page on that holds something, or Pages. Beyond a long
// stretch of nothing, and after some milliseconds, it may return a page that holds nothing.
func (s *Store) NextStored(page uint64) uint64 {
	s.idx.giving.held.RLock()
	defer s.idx.giving.held.RUnlock()
	for looked := 0; page < s.image.Pages; looked++ {
		n := page / image.EntriesPerPage
		if !s.idx.has(n) {
			page = min(s.idx.next(n, true)*image.EntriesPerPage, s.image.Pages)
			looked--
			continue
		}
		found, ok := s.seek(page, func(e uint64) bool { return e != 0 })
		if ok || looked == seekPages {
			return found
		}
		page = found
	}
	return s.image.Pages
}

// NextEmpty returns the first page from page on that holds nothing, or Pages. Beyond a long stretch
// of pages that hold something it may pass over some that hold nothing.
func (s *Store) NextEmpty(page uint64) uint64 {
	s.idx.giving.held.RLock()
	defer s.idx.giving.held.RUnlock()
	for looked := 0; page < s.image.Pages; looked++ {
		n := page / image.EntriesPerPage
		if !s.idx.has(n) {
			return page
		}
		if looked == seekPages {
			return min(s.idx.next(n, false)*image.EntriesPerPage, s.image.Pages)
		}
		found, ok := s.seek(page, func(e uint64) bool { return e == 0 })
		if ok {
			return found
		}
		page = found
	}
	return s.image.Pages
}

// seek returns the first page from page on, in its index page, whose entry is as wanted, or where
// the next index page begins.
func (s *Store) seek(page uint64, want func(e uint64) bool) (found uint64, ok bool) {
	end := min(page&^(image.EntriesPerPage-1)+image.EntriesPerPage, s.image.Pages)
	for ; page < end; page++ {
		if want(s.idx.entries[page].Load()) {
			return page, true
		}
	}
	return end, false
}

// next is the first index page from n on that exists, or that does not, or beyond the last one.
func (x *index) next(n uint64, exists bool) uint64 {
	if x.whole {
		if exists {
			return n
		}
		return x.s.image.IndexPages
	}
	mask := ^uint64(0) << (n % 64)
	for word := n / 64; word < uint64(len(x.bitmap)); word++ {
		set := x.word(word)
		if !exists {
			set = ^set
		}
		if set &= mask; set != 0 {
			return min(word*64+uint64(bits.TrailingZeros64(set)), x.s.image.IndexPages)
		}
		mask = ^uint64(0)
	}
	return x.s.image.IndexPages
}
