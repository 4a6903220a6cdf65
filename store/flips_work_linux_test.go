// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// The bitmap of index pages: a flipped bit neither hides pages nor makes up index pages, whose
// memory the store has not taken, and the maintainer puts it right.
func TestFlipsOfTheBitmap(t *testing.T) {
	rng := flipSource(t)
	cfg := withAlgorithm(t, Config{Disksize: populateUpTo + 1<<30, MaxMemory: 64 << 20})
	mem := newMemory(t)
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint64][]byte{}
	for i := range uint64(8) {
		page := i * i * 7 * image.EntriesPerPage
		want[page] = content{uint32(page), 1, compressible}.bytes()
		write(t, s, page, want[page])
	}
	waitUntil(t, func() bool { return s.sleeping.Load() })
	same := func(what string, n uint64) {
		t.Helper()
		for page := range want {
			if !bytes.Equal(read(t, s, page), want[page]) {
				t.Fatalf("%s, bit %d of the bitmap flipped: page %d is wrong", what, n, page)
			}
		}
		if n < s.image.IndexPages { // it may not exist, and is not made by reading it
			first := n * image.EntriesPerPage
			if _, stored := want[first]; !stored && !bytes.Equal(read(t, s, first), make([]byte, PageSize)) {
				t.Fatalf("%s, bit %d of the bitmap flipped: page %d is not empty", what, n, first)
			}
		}
		next, found := uint64(0), 0
		for ; next < s.Pages(); next++ {
			if next = s.NextStored(next); want[next] != nil {
				found++
			}
		}
		if found != len(want) {
			t.Fatalf("%s, bit %d of the bitmap flipped: %d pages are found, %d stored", what, n, found, len(want))
		}
	}
	opened, tried := 0, 0
	for n := range uint64(len(s.idx.bitmap)) * 64 {
		s.passMu.Lock()
		flip := uint64(1) << (n % 64)
		s.idx.bitmap[n/64].Store(s.idx.bitmap[n/64].Load() ^ flip)
		before, err := mem.Taken()
		if err != nil {
			t.Fatal(err)
		}
		same("at work", n)
		if after, err := mem.Taken(); err != nil || after != before {
			t.Fatalf("bit %d of the bitmap flipped: reads took %d bytes (%v)", n, after-before, err)
		}
		s.passMu.Unlock()
		s.pass(time.Hour)
		holds(t, s)
		if tried++; *flipAll || rng.IntN(12) == 0 {
			s.idx.bitmap[n/64].Store(s.idx.bitmap[n/64].Load() ^ flip)
			s.die()
			if s, err = Open(mem, cfg); err != nil {
				t.Fatal(err)
			}
			opened++
			same("opened", n)
			holds(t, s)
		}
	}
	finish(t, s)
	t.Logf("%d bits of the bitmap flipped, %d of them once more before the image was opened again", tried, opened)
}

// A damaged word of the same-filled table may be another word of its set, which a page gets then:
// the pages of the first word must not become pages of the second.
func TestDamageMakesAnotherWord(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20, Algorithm: algorithm(t, "lz4")})
	filled := func(word uint64) []byte { return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, word), PageSize/8) }
	words := wordsOfASet(2)
	write(t, s, 1, filled(words[0]))
	slot := s.idx.load(1).Value()
	s.same.words[2*slot].Store(words[1])
	write(t, s, 2, filled(words[1]))
	p, w := make([]byte, PageSize), s.Acquire()
	if err := w.Read(1, 0, p); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v, and the page reads as %x...", err, p[:8])
	}
	w.Release()
	if !bytes.Equal(read(t, s, 2), filled(words[1])) {
		t.Error("the page that was written then is wrong")
	}
	write(t, s, 1, filled(words[0]))
	if !bytes.Equal(read(t, s, 1), filled(words[0])) {
		t.Error("the damaged page is wrong after it was written")
	}
}

// flipSteps are how many flips the store below works under: by hand a million.
const flipSteps, flipStepsAll = 6000, 1_000_000

// Bits are flipped one after the other while the store works, and stay flipped: pages are read,
// written in whole and in part, discarded, compressed again, moved, written back, and opened by the
// next worker. A page that a flip has damaged may read as ErrCorrupt until it is written, and no
// other.
func TestFlipsUnderWork(t *testing.T) {
	f := &flipWork{t: t, flipped: newFlipped(t), rng: flipSource(t), damaged: map[uint64]bool{}}
	steps := flipSteps
	if *flipAll {
		steps = flipStepsAll
	}
	began := time.Now()
	for step := range steps {
		f.step = step
		watch := time.AfterFunc(flipTime, func() { panic(fmt.Sprintf("step %d hangs", step)) })
		f.flip()
		for range 4 {
			f.operate()
		}
		if step%200 == 199 {
			f.background()
			f.everything()
		}
		if step%1000 == 999 {
			f.reopen()
			f.everything()
		}
		watch.Stop()
	}
	for page := range uint64(flipPages) { // writes repair everything
		f.write(page)
	}
	f.everything()
	if f.bad == 0 || len(f.damaged) != 0 {
		t.Errorf("%d reads were corrupt, %d pages are damaged after all were written", f.bad, len(f.damaged))
	}
	t.Logf("%d bits flipped under a store that worked on, %d reads ended in ErrCorrupt, %.0f a second", f.tried, f.bad, float64(f.tried)/time.Since(began).Seconds())
	f.s.die()
}

type flipWork struct {
	*flipped
	t       *testing.T
	rng     *rand.Rand
	step    int
	version uint32
	damaged map[uint64]bool // pages that may be corrupt
}

// flip flips a bit that is no part of what an earlier flip has damaged.
func (f *flipWork) flip() {
	f.s.passMu.Lock() // nothing moves
	defer f.s.passMu.Unlock()
	off := f.place()
	hit := f.hitNow(off)
	for _, page := range hit {
		if f.damaged[page] {
			return
		}
	}
	for _, page := range hit {
		f.damaged[page] = true
	}
	f.s.image.Mem[off] ^= 1 << f.rng.IntN(8)
	f.tried++
}

// place draws where to flip a bit: mostly where it hurts.
func (f *flipWork) place() int64 {
	e := f.s.idx.load(f.rng.Uint64N(flipPages))
	switch kind := f.rng.IntN(10); {
	case kind < 2:
		return f.s.image.EntryAt(f.rng.Uint64N(flipPages)) + f.rng.Int64N(8)
	case kind < 4 && e.Codec() == image.SameSlot && e.Valid(f.s.image.Segments):
		return image.SlotAt(e.Value()) + f.rng.Int64N(16)
	case kind < 6 && e.Object() && e.Valid(f.s.image.Segments):
		return f.s.image.ObjectAt(e.Where()) + f.rng.Int64N(image.HeaderSize)
	case kind < 9 && e.Object() && e.Valid(f.s.image.Segments):
		return f.s.image.ObjectAt(e.Where()) + f.rng.Int64N(int64(image.Footprint(e.Length())))
	case kind == 9:
		for range 100 {
			if n := f.rng.Uint64N(f.s.everUsed() + 1); f.s.segment(n).state() != segVoid {
				return f.s.image.SegmentAt(n) + f.rng.Int64N(image.SegmentSize)
			}
		}
	}
	return PageSize/4 + f.rng.Int64N(f.s.image.IndexOffset-PageSize/4) // errors, renewals, words, bitmap
}

// hitNow is hit where objects move.
func (f *flipWork) hitNow(off int64) (hit []uint64) {
	for page := range uint64(flipPages) {
		e := f.s.idx.load(page)
		at := f.s.image.EntryAt(page)
		mine := off >= at && off < at+8
		if !mine && e.Valid(f.s.image.Segments) {
			switch {
			case e.Object():
				at = f.s.image.ObjectAt(e.Where())
				mine = off >= at && off < at+int64(image.Footprint(e.Length()))
			case e.Codec() == image.SameSlot:
				mine = off&^15 == image.SlotAt(e.Value())
			}
		}
		if mine {
			hit = append(hit, page)
		}
	}
	return hit
}

func (f *flipWork) operate() {
	page := f.rng.Uint64N(flipPages)
	switch f.rng.IntN(6) {
	case 0:
		f.write(page)
	case 1:
		f.writePart(page)
	case 2:
		w := f.s.Acquire()
		w.Discard(page, 1)
		w.Release()
		f.want[page] = make([]byte, PageSize)
		delete(f.damaged, page)
	default:
		f.readPage(page)
	}
}

func (f *flipWork) write(page uint64) {
	f.version++
	f.want[page] = content{uint32(page), 1<<30 + f.version, flipContents[f.rng.IntN(len(flipContents))]}.bytes()
	if word := f.want[page]; f.rng.IntN(8) == 0 { // a word that a flip may have made of another
		other := f.want[f.rng.Uint64N(flipPages)]
		v := binary.LittleEndian.Uint64(other) ^ 1<<f.rng.IntN(64)
		f.want[page] = bytes.Repeat(binary.LittleEndian.AppendUint64(nil, v), len(word)/8)
	}
	write(f.t, f.s, page, f.want[page])
	delete(f.damaged, page)
	if !bytes.Equal(read(f.t, f.s, page), f.want[page]) {
		f.t.Fatalf("step %d: page %d is not what was written a moment ago", f.step, page)
	}
}

func (f *flipWork) writePart(page uint64) {
	off := f.rng.IntN(PageSize - 100)
	part := bytes.Repeat([]byte{byte(f.version)}, 1+f.rng.IntN(99))
	w := f.s.Acquire()
	err := w.Write(page, off, part)
	w.Release()
	if err == nil {
		f.want[page] = bytes.Clone(f.want[page])
		copy(f.want[page][off:], part)
		delete(f.damaged, page) // it was read, and found to be right
	} else if !f.damaged[page] || !errors.Is(err, ErrCorrupt) {
		f.t.Fatalf("step %d: write of a part of page %d: %v", f.step, page, err)
	}
	f.readPage(page)
}

func (f *flipWork) readPage(page uint64) {
	w := f.s.Acquire()
	defer w.Release()
	f.holds(f.s, w, page, f.damaged[page], fmt.Sprint("step ", f.step), 0, 0)
}

func (f *flipWork) everything() {
	for page := range uint64(flipPages) {
		f.readPage(page)
	}
}

// background is what the maintainer and operators do.
func (f *flipWork) background() {
	f.s.MarkIdle(0)
	if _, err := f.s.Recompress(context.Background(), RecompressConfig{Algorithm: algorithm(f.t, "zstd(level=3)"), MaxPages: 64}); err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.s.WriteBack(WritebackConfig{Pages: []Selection{{First: f.rng.Uint64N(flipPages), End: flipPages}}}); err != nil && !errors.Is(err, ErrBackingFull) {
		f.t.Fatal(err)
	}
	f.s.CompactNow(nil)
	for range 2 {
		f.s.pass(time.Hour)
	}
	if err := f.s.SetAlgorithm(algorithm(f.t, flipKinds[f.rng.IntN(len(flipKinds))])); err != nil {
		f.t.Fatal(err)
	}
	if used := f.s.used(); used > 32<<20 || bits.Len64(uint64(used)) > 40 {
		f.t.Fatalf("step %d: %d bytes are used for %d pages", f.step, used, flipPages)
	}
}

// reopen is the death of a worker.
func (f *flipWork) reopen() {
	f.s.Check(func(error) {})
	f.s.die()
	s, err := Open(f.s.memory, f.cfg)
	if err != nil {
		f.t.Fatalf("step %d: %v", f.step, err)
	}
	f.s = s
}
