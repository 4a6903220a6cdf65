// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

func TestF006ZeroPageTakesNoMemory(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20})
	before := s.Stats()
	for page := range s.Pages() {
		write(t, s, page, make([]byte, PageSize))
	}
	after := s.Stats()
	if after.MemUsedTotal != before.MemUsedTotal || after.ComprDataSize != 0 {
		t.Errorf("%d zero pages take %d bytes of memory, %d compressed", s.Pages(), after.MemUsedTotal-before.MemUsedTotal, after.ComprDataSize)
	}
	if after.SamePages != s.Pages() || after.OrigDataSize != s.Disksize() {
		t.Errorf("%d same-filled pages of %d bytes counted", after.SamePages, after.OrigDataSize)
	}
}

// Words that fit into no entry share a bounded table; what finds no slot there
// is compressed, and slots come back.
func TestSameFilledTableIsBounded(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20})
	for round := range uint32(3) {
		for page := range uint32(s.Pages()) {
			write(t, s, uint64(page), content{page, round, tableWord}.bytes())
		}
		for page := range uint32(s.Pages()) {
			if !bytes.Equal(read(t, s, uint64(page)), content{page, round, tableWord}.bytes()) {
				t.Fatalf("page %d, round %d: wrong", page, round)
			}
		}
		same := s.Stats().SamePages
		if same < image.SameWords/2 || same > image.SameWords {
			t.Errorf("round %d: %d of %d pages are in a table of %d", round, same, s.Pages(), image.SameWords)
		}
		holds(t, s)
	}
}

func TestF077BadRangesAndSizes(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	w := s.Acquire()
	defer w.Release()
	p := make([]byte, PageSize+1)
	for _, c := range []struct {
		page uint64
		off  int
		n    int
	}{
		{s.Pages(), 0, PageSize}, {1 << 63, 0, 1}, {0, -1, 1}, {0, PageSize, 1}, {0, 1, PageSize}, {0, 0, PageSize + 1},
	} {
		for name, err := range map[string]error{
			"read": w.Read(c.page, c.off, p[:c.n]), "write": w.Write(c.page, c.off, p[:c.n]), "zero": w.Zero(c.page, c.off, c.n),
		} {
			if !errors.Is(err, ErrRange) {
				t.Errorf("%s %+v: %v, want ErrRange", name, c, err)
			}
		}
	}
	w.Discard(s.Pages(), 1)
	w.Discard(0, 1<<63)
	w.Discard(1<<63, 1<<63)
	for _, size := range []uint64{0, 1, PageSize + 1, MaxDisksize + PageSize} {
		if _, err := Create(newMemory(t), withAlgorithm(t, Config{Disksize: size})); !errors.Is(err, ErrConfig) {
			t.Errorf("size %d: %v, want ErrConfig", size, err)
		}
	}
}

// Freed bytes can no longer be found in the image.
func TestF083FreedPagesAreCleared(t *testing.T) {
	s := newStore(t, Config{Disksize: 4 << 20, Algorithm: algorithm(t, "raw")})
	secret := bytes.Repeat([]byte("the key under the mat. "), 200)[:PageSize]
	find := func() bool {
		s.passMu.Lock() // nothing comes or goes
		defer s.passMu.Unlock()
		for n := range s.image.Segments {
			if s.segment(n).state() != segVoid && bytes.Contains(s.image.SegmentBytes(uint64(n)), secret[:64]) {
				return true
			}
		}
		return false
	}
	for name, free := range map[string]func(w *Worker){
		"discard":   func(w *Worker) { w.Discard(3, 1) },
		"overwrite": func(w *Worker) { _ = w.Write(3, 0, make([]byte, PageSize)) },
		"zero":      func(w *Worker) { _ = w.Zero(3, 0, PageSize) },
	} {
		write(t, s, 3, secret)
		if !find() {
			t.Fatal("the test does not find what is stored")
		}
		w := s.Acquire()
		free(w)
		w.Release()
		if find() {
			t.Errorf("%s: the page is still in the image", name)
		}
	}
}

func TestF078FreedSpaceIsMangled(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("needs the build tag invariants")
	}
	s := newStore(t, Config{Disksize: 1 << 20})
	write(t, s, 3, content{3, 1, random}.bytes())
	write(t, s, 4, content{4, 1, random}.bytes()) // keeps the segment from being used again
	e := s.idx.load(3)
	w := s.Acquire()
	w.Discard(3, 1)
	w.Release()
	if !allBytes(s.image.Payload(e.Where(), e.Length()), 0xCC) {
		t.Error("a freed object is not filled with 0xCC")
	}
}

func TestF012ThousandGoroutines(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20})
	var wg sync.WaitGroup
	for g := range uint32(1000) {
		wg.Go(func() {
			for round := range uint32(3) {
				c := content{g, round, contentKind(g+round) % contentKinds}
				w := s.Acquire()
				p := make([]byte, PageSize)
				if err := w.Write(uint64(g), 0, c.bytes()); err != nil {
					t.Error(err)
				}
				if err := w.Read(uint64(g), 0, p); err != nil || !bytes.Equal(p, c.bytes()) {
					t.Errorf("page %d: wrong (%v)", g, err)
				}
				w.Release()
			}
		})
	}
	wg.Wait()
}

// A write of nothing stores nothing.
func TestWriteOfNothing(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	w := s.Acquire()
	defer w.Release()
	if err := errors.Join(w.Write(3, 5, nil), w.Zero(3, 5, 0), w.Zero(4, 5, 9)); err != nil {
		t.Error(err)
	}
	if st := s.Stats(); s.PageState(3).Stored || s.PageState(4).Stored || st.OrigDataSize != 0 || st.Writes != 1 || st.NotifyFree != 0 {
		t.Errorf("%+v", st)
	}
}

// Two halves of a page written at the same time are both there.
func TestPartialWritesOfOnePage(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	const writers = 16
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			part := bytes.Repeat([]byte{byte(g + 1)}, PageSize/writers)
			for range 50 {
				w := s.Acquire()
				if err := w.Write(9, g*len(part), part); err != nil {
					t.Error(err)
				}
				w.Release()
			}
		})
	}
	wg.Wait()
	for i, b := range read(t, s, 9) {
		if b != byte(i/(PageSize/writers)+1) {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
}

// The index of a huge device that is filled in order grows ahead of who fills it:
// no write waits for it.
func TestIndexGrowsAhead(t *testing.T) {
	s := newStore(t, Config{Disksize: steppedDisk, MaxMemory: 1 << 28})
	for n := range uint64(20 * piecePages) { // index pages
		if n%piecePages == 0 { // the writer pauses once a piece, as one that fills all of its pages would
			waitUntil(t, func() bool { return s.idx.has(n + piecePages) })
		}
		if !s.idx.has(n) {
			t.Fatalf("index page %d is not there when it is needed", n)
		}
		write(t, s, n*image.EntriesPerPage, make([]byte, PageSize))
	}
	if n := s.idx.present.Load(); n > (20+aheadPieces+1)*piecePages {
		t.Errorf("%d index pages exist", n)
	}
}

func waitUntil(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to rest")
		}
	}
}

// Nothing on the page path allocates.
func TestPagePathAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, name := range append(codec.Algorithms(), "adaptive:entropy") {
		s := newStore(t, Config{Disksize: 16 << 20, Algorithm: algorithm(t, name)})
		var contents [8][]byte
		for i := range contents {
			contents[i] = content{1, uint32(i), contentKind(i) % contentKinds}.bytes()
		}
		p := make([]byte, PageSize)
		i := 0
		step := func() {
			i++
			w := s.Acquire()
			page := uint64(i*31) % s.Pages()
			err := errors.Join(w.Write(page, 0, contents[i%8]), w.Write(page, 100, contents[i%7][:200]),
				w.Read(page, 0, p), w.Read(page, 7, p[:9]), w.Zero(page, 5, 50))
			w.Discard(page/2, 3)
			w.Release()
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 1000 {
			step()
		}
		if n := testing.AllocsPerRun(2000, step); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// The free end of an open segment is no garbage, nor is that of a segment for stubs.
func TestOpenSegmentsAreSpare(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20})
	s.passMu.Lock() // nothing comes or goes
	defer s.passMu.Unlock()
	before, _ := s.garbage()
	for i, o := range []*openSegment{&s.writtenBack.batch.open, &s.writtenBack.batch.spare} {
		o.end = image.SegmentSize
		if got, _ := s.garbage(); got != before-int64(i+1)*image.SegmentSize {
			t.Errorf("with %d segments for stubs %d bytes are garbage, %d without", i+1, got, before)
		}
	}
	s.writtenBack.batch.open, s.writtenBack.batch.spare = openSegment{}, openSegment{}
}

// After a storm of random overwrites the garbage is squeezed out.
func TestCompactionSettles(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20})
	version := make([]uint32, s.Pages())
	for i := range 3 * s.Pages() {
		page := i * 7919 % s.Pages()
		version[page]++
		write(t, s, page, content{uint32(page), version[page], compressible}.bytes())
	}
	ratio := 0.0
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if garbage, live := s.garbage(); garbage <= live/25 {
			break
		}
	}
	st := s.Stats()
	ratio = float64(st.MemUsedTotal-st.ReserveBytes) / float64(st.ComprDataSize)
	t.Logf("memory used, less the reserve, is %.3f of what is stored", ratio)
	if garbage, live := s.garbage(); garbage > live/25 {
		t.Errorf("%d bytes of garbage beside %d of objects", garbage, live)
	}
	for page := range s.Pages() {
		if !bytes.Equal(read(t, s, page), content{uint32(page), version[page], compressible}.bytes()) {
			t.Fatalf("page %d is wrong", page)
		}
	}
}

// A turn that is over before compaction begins still moves some objects, and goes on where it
// stopped.
func TestCompactionByTurns(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20})
	s.passMu.Lock() // the maintainer waits
	version, rng := make([]uint32, s.Pages()), rand.New(rand.NewPCG(4, 4))
	for range 3 * s.Pages() {
		s.recycle()
		s.refill()
		page := rng.Uint64N(s.Pages())
		version[page]++
		write(t, s, page, content{uint32(page), version[page], compressible}.bytes())
	}
	s.turnEnd = time.Time{}
	before, live := s.garbage()
	turns, garbage := 0, before
	for ; garbage > live/25 && turns < 20_000; turns++ {
		s.compactIdle(true)
		garbage, live = s.garbage()
	}
	s.passMu.Unlock()
	if before <= live/24 || garbage > live/25 || turns < 10 {
		t.Errorf("%d turns: %d bytes of garbage beside %d of objects, before %d", turns, garbage, live, before)
	}
	t.Logf("%d turns for %d bytes of garbage beside %d of objects", turns, before, live)
	for page := range s.Pages() {
		if v := version[page]; v > 0 && !bytes.Equal(read(t, s, page), content{uint32(page), v, compressible}.bytes()) {
			t.Fatalf("page %d is wrong", page)
		}
	}
}

// Words that others look at must not share a cache line with words that a worker writes.
func TestWorkersDoNotShareCacheLines(t *testing.T) {
	if off := unsafe.Offsetof(Worker{}.coder); off < 64 {
		t.Errorf("a worker's own fields begin at byte %d", off)
	}
}
