// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/view"
)

func init() {
	children["write under a view"] = writeUnderView
}

// openView views a live image as another process would: read only.
func openView(t testing.TB, mem *Memory) *view.View {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", mem.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	v, err := view.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

const viewedSize = 24 << 20

// writeUnderView is a worker that overwrites and discards until it is killed. Every second
// one has a limit that binds, so that it compacts all the time.
func writeUnderView() error {
	mem, err := AdoptMemory(os.NewFile(3, "image"), MemoryKind(os.Getenv("KIND")))
	if err != nil {
		return err
	}
	a, err := codec.Parse("adaptive")
	if err != nil {
		return err
	}
	cfg := Config{Disksize: viewedSize, Algorithm: a}
	if os.Getenv("LIMIT") != "" {
		cfg.MemLimit = 12 << 20
	}
	s, err := Open(mem, cfg)
	if err != nil {
		return err
	}
	life, err := strconv.ParseUint(os.Getenv("LIFE"), 10, 64)
	if err != nil {
		return err
	}
	var version atomic.Uint32
	var working sync.WaitGroup
	for seed := range uint64(2) {
		working.Go(func() {
			rng := rand.New(rand.NewPCG(life, seed))
			for {
				disturb(s, rng, version.Add(1))
			}
		})
	}
	working.Wait()
	return nil
}

// disturb does one thing to a store. That the store is full is what is wanted.
func disturb(s *Store, rng *rand.Rand, version uint32) {
	w := s.Acquire()
	defer w.Release()
	page := rng.Uint32N(uint32(s.Pages()))
	switch n := rng.IntN(20000); {
	case n == 0:
		w.Discard(0, s.Pages())
	case n < 200:
		w.Discard(uint64(page), 64)
	default:
		if err := w.Write(uint64(page), 0, content{page, version, contentKind(rng.IntN(int(contentKinds)))}.bytes()); err != nil && !errors.Is(err, ErrFull) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// ofItself reports whether a page is one that disturb wrote to this place, whole.
func ofItself(page uint32, got []byte) bool {
	word := binary.LittleEndian.Uint64(got)
	version := uint32(word)
	for _, c := range []content{{page, 0, zeros}, {page, version, smallWord}, {page, version, halfWord}, {page, version, tableWord},
		{page, binary.LittleEndian.Uint32(got[4:]), contentKind(binary.LittleEndian.Uint32(got[8:]))}} {
		if bytes.Equal(c.bytes(), got) {
			return true
		}
	}
	return false
}

// While another process writes, discards, compacts, is killed and replaced, no page is
// corrupt, none is another's, and none is torn.
func TestViewOfALiveImage(t *testing.T) {
	mem := newMemory(t)
	s, err := Create(mem, withAlgorithm(t, Config{Disksize: viewedSize}))
	if err != nil {
		t.Fatal(err)
	}
	finish(t, s)
	t.Setenv("KIND", string(mem.Kind()))
	lives, length := 6, time.Second
	if testing.Short() {
		lives, length = 2, time.Second/2
	}
	v, rounds, objects := openView(t, mem), 0, 0
	for life := range lives {
		t.Setenv("LIFE", strconv.Itoa(life))
		t.Setenv("LIMIT", []string{"", "y"}[life%2])
		cmd := startChild(t, "write under a view", mem.File())
		for end := time.Now().Add(length); time.Now().Before(end); rounds++ {
			all := viewed
			if rounds%2 == 1 {
				all = surveyed
			}
			for page, got := range all(t, v, 1000) {
				if got == nil || !ofItself(uint32(page), got) {
					t.Fatalf("life %d: page %d is corrupt (%v) or another's", life, page, got == nil)
				}
				if got[12] != 0 {
					objects++
				}
			}
		}
		if err := unix.Kill(cmd.Process.Pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killed(t, cmd)
	}
	t.Logf("%d rounds over %d pages, %d with content", rounds, v.Pages(), objects)
	if s, err = Open(mem, withAlgorithm(t, Config{})); err != nil {
		t.Fatal(err)
	}
	finish(t, s)
}

// To look at an image takes no memory for it, also where its memory was given back; to touch it
// would, which is why it is not mapped.
func TestViewTakesNoMemory(t *testing.T) {
	s := mustCreate(t, Config{Disksize: 64 << 20})
	for page := range uint32(s.Pages()) {
		write(t, s, uint64(page), content{page, 1, random}.bytes())
	}
	v := openView(t, s.memory)
	w := newWindow(int(v.Pages()))
	if err := v.Look(w, 0, v.Pages()); err != nil {
		t.Fatal(err)
	}
	worker := s.Acquire()
	worker.Discard(0, s.Pages())
	worker.Release()
	for end := time.Now().Add(5 * time.Second); s.Stats().MemUsedTotal > 32<<20 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	before, err := s.memory.Taken()
	if err != nil {
		t.Fatal(err)
	}
	fetchTogether(v, w)
	all := make([]byte, image.SegmentSize)
	for off := int64(0); off < s.image.Size; off += image.SegmentSize {
		if err := s.memory.readAt(all[:min(image.SegmentSize, s.image.Size-off)], off); err != nil {
			t.Fatal(err)
		}
	}
	for i, kind := range w.Kind {
		if kind != view.PageEmpty {
			t.Fatalf("page %d is of kind %d", i, kind)
		}
	}
	after, err := s.memory.Taken()
	if err != nil || after > before {
		t.Errorf("it took %d bytes, %v", after-before, err)
	}
	finish(t, s)
	if mapped := touchedThroughMapping(t, s.memory, s.image.Size); mapped <= after+image.SegmentSize {
		t.Errorf("a mapping takes nothing either on this kernel: %d bytes, %d before", mapped, after)
	}
}

// touchedThroughMapping reads an image through a mapping and returns what it takes then.
func touchedThroughMapping(t *testing.T, mem *Memory, size int64) int64 {
	t.Helper()
	p, err := unix.Mmap(int(mem.File().Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	touch(p)
	taken, err := mem.Taken()
	if err := errors.Join(err, unix.Munmap(p)); err != nil {
		t.Fatal(err)
	}
	return taken
}

// BenchmarkView copies and proves what is stored, where it was written in the order of pages and at
// random.
func BenchmarkView(b *testing.B) {
	for _, order := range []string{"in order", "at random", "at random, surveyed"} {
		b.Run(order, func(b *testing.B) {
			s := mustCreate(b, Config{Disksize: 64 << 20})
			for i, page := range rand.New(rand.NewPCG(1, 1)).Perm(int(s.Pages())) {
				if order == "in order" {
					page = i
				}
				write(b, s, uint64(page), content{uint32(page), 1, compressible}.bytes())
			}
			v, w := openView(b, s.memory), newWindow(8192)
			objects := make([]uint32, 8192)
			for i := range objects {
				objects[i] = uint32(i)
			}
			for b.Loop() {
				look := func() error { return v.Look(w, 0, v.Pages()) }
				if order == "at random, surveyed" {
					look = func() error { return v.Survey(0, v.Pages()).Next(w) }
				}
				if err := look(); err != nil {
					b.Fatal(err)
				}
				v.Fetch(w, objects)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/8192, "ns/page")
			if err := s.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}
