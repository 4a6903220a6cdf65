// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"zramfs/store/internal/invariant"
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

func (x *index) init(s *Store) error {
	x.s, x.entries, x.bitmap = s, s.image.index(), s.image.bitmap()
	var err error
	if s.cfg.Disksize <= populateUpTo {
		err = x.populate()
	} else {
		err = x.punchAbsent()
	}
	x.each(0, s.indexPages-1, func(uint64) { x.present.Add(1) })
	s.charged.Store(s.indexBytes())
	return err
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
	if !x.s.charge(PageSize) {
		if err := x.s.cedeSegment(PageSize); err != nil {
			return err
		}
	}
	if err := x.s.memory.allocate(x.s.indexOffset+int64(n*PageSize), PageSize); err != nil {
		x.s.charged.Add(-PageSize)
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	invariant.Point("index page taken")
	x.bitmap[n/64].Or(1 << (n % 64))
	invariant.Point("index page noted")
	x.present.Add(1)
	return nil
}

// populate makes the whole index exist, in pieces that a signal may interrupt.
func (x *index) populate() error {
	const piece = 64 << 20
	size := int64(x.s.indexPages * PageSize)
	for off := int64(0); off < size; off += piece {
		if err := x.s.memory.populate(x.s.indexOffset+off, min(piece, size-off)); err != nil {
			return fmt.Errorf("%w: %w", ErrNoMemory, err)
		}
	}
	for n := range x.s.indexPages {
		x.bitmap[n/64].Or(1 << (n % 64))
	}
	x.whole = true
	return nil
}

// punchAbsent gives back the index pages that do not exist: a process that died
// may have taken one and not come to say so.
func (x *index) punchAbsent() error {
	next := uint64(0)
	var bad error
	punch := func(to uint64) {
		if next < to {
			bad = errors.Join(bad, x.s.memory.punch(x.s.indexOffset+int64(next*PageSize), int64((to-next)*PageSize)))
		}
		next = to + 1
	}
	x.each(0, x.s.indexPages-1, punch)
	punch(x.s.indexPages)
	return bad
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
