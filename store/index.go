// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
)

// index is the truth about every page. Its pages are taken from the machine
// when first needed; a bitmap says which exist, and one that does not is never
// touched, since even reading a hole of the image would fill it.
type index struct {
	s       *Store          // immutable
	entries []atomic.Uint64 // immutable view; elements atomic
	bitmap  []atomic.Uint64 // immutable view; a bit is set once, under mu
	present atomic.Int64    // bits set
	whole   bool            // the whole index exists; immutable once the store is open
	mu      sync.Mutex      // serialises allocation
}

func (x *index) init(s *Store) {
	x.s, x.entries, x.bitmap = s, s.image.index(), s.image.bitmap()
}

// has reports whether index page n exists.
func (x *index) has(n uint64) bool { return x.whole || x.bitmap[n/64].Load()>>(n%64)&1 != 0 }

// load is the entry of a page, 0 where its index page does not exist.
func (x *index) load(page uint64) entry {
	if !x.has(page / indexPerPage) {
		return 0
	}
	return entry(x.entries[page].Load())
}

// swap publishes e, whose index page exists, and returns what it replaces. The
// caller holds the page's lock.
func (x *index) swap(page uint64, e entry) entry { return entry(x.entries[page].Swap(uint64(e))) }

// ensure makes the index page of a page exist.
func (x *index) ensure(page uint64) error {
	n := page / indexPerPage
	if x.has(n) {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.has(n) {
		return nil
	}
	if !x.s.mayGrow(PageSize) {
		return ErrFull
	}
	if err := x.s.memory.allocate(x.s.indexOffset+int64(n*PageSize), PageSize); err != nil {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	x.bitmap[n/64].Or(1 << (n % 64))
	x.present.Add(1)
	x.s.notePeak()
	return nil
}

// populate makes the whole index exist, in pieces that a signal may interrupt.
func (x *index) populate() error {
	const piece = 64 << 20
	size := int64(x.s.indexPages * PageSize)
	for off := int64(0); off < size; off += piece {
		if err := x.s.memory.allocate(x.s.indexOffset+off, min(piece, size-off)); err != nil {
			return err
		}
	}
	for n := range x.s.indexPages {
		x.bitmap[n/64].Or(1 << (n % 64))
	}
	x.present.Store(int64(x.s.indexPages))
	x.whole = true
	return nil
}

// each calls f for every index page from first to last that exists.
func (x *index) each(first, last uint64, f func(n uint64)) {
	for word := first / 64; word <= last/64; word++ {
		for set := x.bitmap[word].Load(); set != 0; set &= set - 1 {
			n := word*64 + uint64(bits.TrailingZeros64(set))
			if n >= first && n <= last {
				f(n)
			}
		}
	}
}
