// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/store/internal/image"
)

// The tests of this file flip single bits of an image of a few MiB that holds every kind of object.
// Each flip ends in the right pages, in ErrCorrupt for the pages that the bit belongs to, or in an
// image that Open refuses. A test run tries a sample, and with -flips every bit.

var flipAll = flag.Bool("flips", false, "flip every bit of an image, not a sample: hours")

const (
	flipPages = 512             // of the device: an index page
	flipTime  = 2 * time.Minute // for one flip and all that is done with it, at the most
)

// flipSource is where a test draws its flips from; the seed is printed where the test fails.
func flipSource(t *testing.T) *rand.Rand {
	return rand.New(rand.NewPCG(require.Seed(t, 1), 17))
}

// A flipped is an image whose bits are flipped, and what belongs there.
type flipped struct {
	t     *testing.T
	s     *Store
	cfg   Config
	want  [flipPages][]byte
	held  [][2]int64         // stretches of the image that have memory: begin and end
	owner map[int64][]uint64 // pages, by where in the image a unit of their object lies
	users map[int64][]uint64
	tried int
	bad   int // flips that made a page unreadable
	fresh uint32
}

// flipKinds are the algorithms that the pages are stored by.
var flipKinds = []string{"page", "page:dense", "lz4", "zstd(level=1)", "raw", "adaptive"}

var flipContents = []contentKind{compressible, zeros, random, smallWord, compressible, halfWord, barelyCompressible, tableWord, compressible, alike, alike}

// newFlipped makes an image with pages never written, discarded, same-filled in every way, of every
// codec, replaced, and written back, with the ages of all of them.
func newFlipped(t *testing.T) *flipped {
	cfg := withAlgorithm(t, Config{Disksize: flipPages * PageSize, Workers: 4, MaxMemory: 64 << 20, Backing: newBacking(t, 64)})
	f := &flipped{t: t, cfg: cfg, s: mustCreate(t, cfg)}
	for version := range uint32(2) {
		for page := range uint32(flipPages) {
			c := content{page, 1<<30 + version, flipContents[page/7%uint32(len(flipContents))]}
			switch {
			case page%16 == 15 || version == 1 && page%3 != 0: // never written, or once
			case page%16 == 14 && version == 1:
				w := f.s.Acquire()
				w.Discard(uint64(page), 1)
				w.Release()
				f.want[page] = nil
			default:
				if err := f.s.SetAlgorithm(algorithm(t, flipKinds[page%uint32(len(flipKinds))])); err != nil {
					t.Fatal(err)
				}
				f.want[page] = c.bytes()
				write(t, f.s, uint64(page), f.want[page])
			}
		}
	}
	for page := range f.want {
		if f.want[page] == nil {
			f.want[page] = make([]byte, PageSize)
		}
	}
	if n, err := f.s.WriteBack(WritebackConfig{Pages: []Selection{{First: 400, End: 440}}}); err != nil || n.Pages == 0 {
		t.Fatal(n, err)
	}
	if err := joinAll(f.s); err != nil {
		t.Fatal(err)
	}
	f.s.errors.note(failedWrite)
	f.survey()
	return f
}

// survey finds which bytes of the image belong to whom. Nothing may move after it.
func (f *flipped) survey() {
	f.owner, f.users, f.held = map[int64][]uint64{}, map[int64][]uint64{}, nil
	kinds := map[codec.ID]int{}
	for page := range uint64(flipPages) {
		e := f.s.idx.load(page)
		kinds[e.Codec()]++
		switch {
		case e.Object():
			for at := range image.Footprint(e.Length()) / image.Unit {
				unit := f.s.image.ObjectAt(e.Where())/image.Unit + int64(at)
				f.owner[unit] = append(f.owner[unit], page)
			}
		case e.Codec() == image.SameSlot:
			slot := image.SlotAt(e.Value())
			f.users[slot] = append(f.users[slot], page)
		}
	}
	if len(kinds) < 11 || kinds[codec.PageDenseCluster] < 16 {
		f.t.Fatalf("the image has the kinds %v, and no others", kinds)
	}
	for at := int64(0); at < f.s.image.Size; {
		data, hole, err := f.s.memory.nextData(at)
		if err != nil {
			f.t.Fatal(err)
		}
		if data < hole {
			f.held = append(f.held, [2]int64{data, hole})
		}
		at = max(hole, at+1)
	}
}

// bits is how many bits the image has.
func (f *flipped) bits() (n int64) {
	for _, h := range f.held {
		n += (h[1] - h[0]) * 8
	}
	return n
}

// at is the place of the nth bit.
func (f *flipped) at(n int64) (off int64, mask byte) {
	for _, h := range f.held {
		if size := (h[1] - h[0]) * 8; n < size {
			return h[0] + n/8, 1 << (n % 8)
		} else {
			n -= size
		}
	}
	panic("beyond the image")
}

// hit says which pages a byte belongs to.
func (f *flipped) hit(off int64) []uint64 {
	index := f.s.image.IndexOffset
	if off >= index && off < index+flipPages*8 {
		return []uint64{f.s.image.EntryPage(off)}
	}
	if pages, ok := f.owner[off/image.Unit]; ok {
		return pages
	}
	return f.users[off&^15]
}

// holds reads a page: it is right, or corrupt where that may be.
func (f *flipped) holds(s *Store, w *Worker, page uint64, mayFail bool, what string, off int64, mask byte) {
	p := w.testRoom()
	switch err := w.Read(page, 0, p); {
	case err == nil && bytes.Equal(p, f.want[page]):
	case mayFail && errors.Is(err, ErrCorrupt):
		f.bad++
	default:
		f.t.Fatalf("%s: image byte %#x, bit %#x: page %d (entry %#x): %v, and not what was written", what, off, mask, page, uint64(s.idx.load(page)), err)
	}
}

var flipRoom [PageSize]byte

func (w *Worker) testRoom() []byte { return flipRoom[:] }

// all reads every page; those that the byte at off belongs to may be corrupt.
func (f *flipped) all(s *Store, what string, off int64, mask byte) {
	hit := map[uint64]bool{}
	for _, page := range f.hit(off) {
		hit[page] = true
	}
	w := s.Acquire()
	defer w.Release()
	for page := range uint64(flipPages) {
		f.holds(s, w, page, hit[page], what, off, mask)
	}
}

// read flips a bit under the store, reads what it may concern, and flips it back. Every so often it
// reads all pages.
func (f *flipped) read(w *Worker, n int64, everything bool) {
	off, mask := f.at(n)
	f.s.image.Mem[off] ^= mask
	for _, page := range f.hit(off) {
		f.holds(f.s, w, page, true, "read", off, mask)
	}
	if everything {
		f.all(f.s, "read", off, mask)
	}
	f.s.image.Mem[off] ^= mask
	f.tried++
}

// Bits flipped under a store at work.
func TestFlipsAreRead(t *testing.T) {
	f, rng := newFlipped(t), flipSource(t)
	defer f.s.die()
	f.s.passMu.Lock() // nothing moves
	defer f.s.passMu.Unlock()
	f.survey()
	w := f.s.Acquire()
	defer w.Release()
	began, bits := time.Now(), f.bits()
	if *flipAll {
		for n := range bits {
			f.read(w, n, n%2003 == 0)
		}
	} else {
		for range 100_000 {
			f.read(w, rng.Int64N(bits), rng.IntN(503) == 0)
		}
	}
	if f.bad == 0 {
		t.Error("no flip made a page unreadable: the test proves nothing")
	}
	t.Logf("%d of %d bits flipped under a store at work, %d reads ended in ErrCorrupt, %.0f a second", f.tried, bits, f.bad, float64(f.tried)/time.Since(began).Seconds())
}

// kept is the image at rest, to be damaged and opened again and again.
type kept struct {
	f     *flipped
	mem   *Memory
	bytes [][]byte // of f.held
}

func (f *flipped) keep() *kept {
	k := &kept{f: f, mem: newMemory(f.t)}
	f.s.quiesce()
	defer f.s.resume()
	f.survey()
	for _, h := range f.held {
		k.bytes = append(k.bytes, bytes.Clone(f.s.image.Mem[h[0]:h[1]]))
	}
	return k
}

// lay makes the memory hold the image with a bit flipped.
func (k *kept) lay(off int64, mask byte) {
	f := k.f
	for _, err := range []error{
		k.mem.file.Truncate(0), k.mem.file.Truncate(f.s.image.Size),
	} {
		if err != nil {
			f.t.Fatal(err)
		}
	}
	for i, h := range f.held {
		if err := k.mem.writeAt(k.bytes[i], h[0]); err != nil {
			f.t.Fatal(err)
		}
		if off >= h[0] && off < h[1] {
			if err := k.mem.writeAt([]byte{k.bytes[i][off-h[0]] ^ mask}, off); err != nil {
				f.t.Fatal(err)
			}
		}
	}
}

// recoverAll opens the image with a bit flipped, as the next worker does, and puts the store to
// work: whatever it does, no page becomes wrong, and writes repair.
func (k *kept) recoverAll(n int64) (refused bool) {
	f := k.f
	off, mask := f.at(n)
	watch := time.AfterFunc(flipTime, func() {
		debug.SetTraceback("all")
		panic(fmt.Sprintf("a flip of bit %#x at %#x hangs", mask, off))
	})
	defer watch.Stop()
	k.lay(off, mask)
	f.tried++
	s, err := Open(k.mem, f.cfg)
	if err != nil {
		if off >= PageSize {
			f.t.Fatalf("a flip of bit %#x at %#x is refused: %v", mask, off, err)
		}
		return true
	}
	defer s.die()
	f.all(s, "opened", off, mask)
	for range 3 {
		s.pass(time.Hour)
	}
	s.CompactNow(nil)
	s.Check(func(error) {}) // it may find something, and ends
	f.all(s, "compacted", off, mask)
	f.fresh++
	for _, page := range f.hit(off) {
		c := content{uint32(page), f.fresh, contentKind(f.fresh) % contentKinds}.bytes()
		write(f.t, s, page, c)
		if !bytes.Equal(read(f.t, s, page), c) {
			f.t.Fatalf("a flip of bit %#x at %#x: page %d is wrong after it was written", mask, off, page)
		}
	}
	w := s.Acquire()
	for page := range uint64(flipPages) { // what the damage is next to comes and goes
		if page%2 == 0 {
			w.Discard(page, 1)
		}
	}
	w.Release()
	s.CompactNow(nil)
	if p := read(f.t, s, 2); !bytes.Equal(p, make([]byte, PageSize)) {
		f.t.Fatalf("a flip of bit %#x at %#x: a discarded page is not empty", mask, off)
	}
	return false
}

// Bits flipped in an image that the next worker opens: those of the superblock, the errors, the
// words in use and the headers, and a sample of the others.
func TestFlipsAreOpened(t *testing.T) {
	f, rng := newFlipped(t), flipSource(t)
	defer f.s.die()
	k := f.keep()
	began, refused := time.Now(), 0
	try := func(n int64) {
		if k.recoverAll(n) {
			refused++
		}
	}
	bits, super, tables := f.bits(), int64(56*8), f.s.image.IndexOffset*8+flipPages*64
	switch {
	case *flipAll:
		for n := range super {
			try(n)
		}
		for n := super; n < tables; n += 1 + rng.Int64N(8) {
			try(n)
		}
		for page := range uint64(flipPages) {
			if e := f.s.idx.load(page); e.Object() {
				for bit := range int64(image.HeaderSize * 8) {
					try(f.number(f.s.image.ObjectAt(e.Where())*8 + bit))
				}
			}
		}
		for range 50_000 {
			try(rng.Int64N(bits))
		}
	default:
		for range 40 {
			try(rng.Int64N(super))
		}
		for range 160 {
			try(rng.Int64N(tables))
			try(rng.Int64N(bits))
		}
	}
	if refused == 0 {
		t.Error("no flip was refused: the test proves nothing")
	}
	t.Logf("%d bits flipped and opened, %d images refused, %d reads ended in ErrCorrupt, %.0f a second", f.tried, refused, f.bad, float64(f.tried)/time.Since(began).Seconds())
}

// number is what at has of a bit of the image.
func (f *flipped) number(bit int64) (n int64) {
	for _, h := range f.held {
		if bit < h[1]*8 {
			return n + bit - h[0]*8
		}
		n += (h[1] - h[0]) * 8
	}
	panic("beyond the image")
}
