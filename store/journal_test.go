// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
)

// A state is all that a page holds, in one word, so that a journal can be kept by
// a process that may be killed at any moment. From bit 0: 24 bits of version and
// 4 of kind of the whole page; then, where a part was changed, 12 bits of its
// offset, 12 of its length less one, and 1 each for a part at all and for zeros.
// Zero is a page of zeros.
type state uint64

func wholeState(version uint32, kind contentKind) state {
	return state(version&(1<<24-1)) | state(kind)<<24
}

func (a state) withPart(off, n int, clear bool) state {
	a |= state(off)<<28 | state(n-1)<<40 | 1<<52
	if clear {
		a |= 1 << 53
	}
	return a
}

func (a state) content(page uint64) content {
	return content{uint32(page), uint32(a & (1<<24 - 1)), contentKind(a >> 24 & 15)}
}

// part is what was changed of the page, and where; nil for nothing.
func (a state) part(page uint64) (off int, p []byte) {
	if a>>52&1 == 0 {
		return 0, nil
	}
	off, p = int(a>>28&(1<<12-1)), make([]byte, a>>40&(1<<12-1)+1)
	if a>>53&1 == 0 {
		c := a.content(page)
		copy(p, content{c.page, c.version ^ 1<<20, random}.bytes())
	}
	return off, p
}

func (a state) bytes(page uint64) []byte {
	p := a.content(page).bytes()
	off, part := a.part(page)
	copy(p[off:], part)
	return p
}

// A journal says of each page what it held and, while an operation is under way,
// what it may hold. Each page belongs to one goroutine.
type journal struct {
	held  []atomic.Uint64 // state before
	wants []atomic.Uint64 // state after; the same as before when nothing is under way
	apart uint64          // how far apart on the device the pages of the journal are
}

func newJournal(pages, apart uint64) journal {
	return journal{make([]atomic.Uint64, pages), make([]atomic.Uint64, pages), apart}
}

// operate does a random operation on a page and keeps the journal. version tells
// it from those before.
func (j journal) operate(s *Store, rng *rand.Rand, page uint64, version uint32) error {
	before := state(j.held[page].Load())
	if s.idx.load(page*j.apart) == 0 {
		before = 0 // a part of a page of zeros that was discarded
	}
	after := wholeState(version, contentKind(rng.IntN(int(contentKinds))))
	what := rng.IntN(10)
	switch {
	case what < 2:
		after = 0
	case what < 5 && before != 0 && before>>52 == 0:
		off := rng.IntN(PageSize)
		after = before.withPart(off, 1+rng.IntN(PageSize-off), what == 2)
	}
	return j.carryOut(s, page, after)
}

func (j journal) discard(s *Store, page uint64) error { return j.carryOut(s, page, 0) }

func (j journal) carryOut(s *Store, page uint64, after state) error {
	j.wants[page].Store(uint64(after))
	w := s.Acquire()
	err := j.apply(w, page, after)
	w.Release()
	if err == nil {
		j.held[page].Store(uint64(after))
		return nil
	}
	j.wants[page].Store(j.held[page].Load())
	if errors.Is(err, ErrFull) {
		return nil
	}
	return fmt.Errorf("page %d: %w", page, err)
}

func (j journal) apply(w *Worker, page uint64, after state) error {
	off, part := after.part(page)
	switch {
	case after == 0:
		w.Discard(page*j.apart, 1)
		return nil
	case part == nil:
		return w.Write(page*j.apart, 0, after.bytes(page))
	case after>>53 == 1:
		return w.Zero(page*j.apart, off, len(part))
	}
	return w.Write(page*j.apart, off, part)
}

// settle compares every page with the journal, after a death too: an operation
// that was under way was done or was not, and from here on that is known.
func (j journal) settle(s *Store) error {
	w := s.Acquire()
	defer w.Release()
	p := make([]byte, PageSize)
	for page := range uint64(len(j.held)) {
		if err := w.Read(page*j.apart, 0, p); err != nil {
			return err
		}
		held, wants := state(j.held[page].Load()), state(j.wants[page].Load())
		switch {
		case bytes.Equal(p, wants.bytes(page)):
			j.held[page].Store(uint64(wants))
		case bytes.Equal(p, held.bytes(page)):
			j.wants[page].Store(uint64(held))
		default:
			return fmt.Errorf("page %d holds neither %#x nor %#x", page, held, wants)
		}
	}
	return nil
}
