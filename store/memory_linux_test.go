// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/store/internal/image"
)

// limitedMemory is a memory file on a tmpfs that holds size bytes: what a
// machine without memory looks like.
func limitedMemory(t *testing.T, size string) *Memory {
	t.Helper()
	require.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	f, err := os.Create(filepath.Join(dir, "image"))
	if err != nil {
		t.Fatal(err)
	}
	mem := &Memory{kind: MemoryMemfd, file: f}
	t.Cleanup(func() {
		if err := mem.Close(); err != nil {
			t.Error(err)
		}
	})
	return mem
}

// Running out of memory is an error, never a signal.
func TestMachineWithoutMemory(t *testing.T) {
	s, err := Create(limitedMemory(t, "12m"), withAlgorithm(t, Config{Disksize: 64 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	defer finish(t, s)
	stored := fillUp(t, s)
	for page := range stored {
		if !bytes.Equal(read(t, s, page), content{uint32(page), 1, random}.bytes()) {
			t.Fatalf("page %d is wrong", page)
		}
	}
	w := s.Acquire()
	w.Discard(0, stored)
	w.Release()
	write(t, s, 0, content{0, 2, random}.bytes())
}

func TestNoMemoryForTheIndex(t *testing.T) {
	_, err := Create(limitedMemory(t, "256k"), withAlgorithm(t, Config{Disksize: populateUpTo}))
	if !errors.Is(err, ErrNoMemory) {
		t.Fatalf("%v, want ErrNoMemory", err)
	}
}

// Both kinds of memory do the same; the first is not to be had everywhere.
func TestMemoryKinds(t *testing.T) {
	for _, kind := range []MemoryKind{MemoryNoswap, MemoryMemfd} {
		t.Run(string(kind), func(t *testing.T) {
			if kind == MemoryNoswap {
				require.Root(t)
			}
			mem, err := NewMemory(kind)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Create(mem, withAlgorithm(t, Config{Disksize: 8 << 20}))
			if err != nil {
				t.Fatal(err)
			}
			for page := range uint32(s.Pages()) {
				write(t, s, uint64(page), content{page, 1, compressible}.bytes())
			}
			finish(t, s)
			if err := mem.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := NewMemory("disk"); err == nil {
		t.Error("an unknown kind was accepted")
	}
}

// taken is what the store's file really takes of the machine's memory.
func taken(t *testing.T, s *Store) int64 {
	t.Helper()
	n, err := s.memory.Taken()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// takenAtMost waits for the maintainer to give memory back.
func takenAtMost(t *testing.T, s *Store, limit int64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); taken(t, s) > limit; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the image takes %d bytes, want at most %d", taken(t, s), limit)
		}
	}
}

func TestDiscardGivesMemoryBack(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20})
	empty := taken(t, s)
	for page := range uint32(s.Pages()) {
		write(t, s, uint64(page), content{page, 1, random}.bytes())
	}
	if full := taken(t, s); full < 64<<20 {
		t.Fatalf("64 MiB of random pages take %d bytes", full)
	}
	w := s.Acquire()
	w.Discard(0, s.Pages())
	w.Release()
	takenAtMost(t, s, empty+int64(len(s.workers))*image.SegmentSize) // the open ones stay
	if n := s.Stats().NotifyFree; n != s.Pages() {
		t.Errorf("%d pages counted as freed, want %d", n, s.Pages())
	}
}

// The index of a device beyond populateUpTo is taken page by page, and reading
// what was never written takes nothing.
func TestHugeEmptyDevice(t *testing.T) {
	var page [PageSize]byte
	start := time.Now()
	s := newStore(t, Config{Disksize: 1 << 40, MaxMemory: 1 << 34})
	t.Logf("1 TiB opens in %v", time.Since(start))
	before := taken(t, s)
	w := s.Acquire()
	defer w.Release()
	for n := range s.Pages() / 64 { // each index page eight times
		if err := w.Read(n*64, 0, page[:]); err != nil || page != [PageSize]byte{} {
			t.Fatalf("page %d: %v", n*64, err)
		}
	}
	if err := w.Zero(s.Pages()/2, 0, PageSize); err != nil {
		t.Error(err)
	}
	if n := taken(t, s) - before; n >= 1<<20 {
		t.Errorf("reading an empty device took %d bytes", n)
	}
	if err := w.Write(s.Pages()-1, 0, content{9, 9, random}.bytes()); err != nil {
		t.Fatal(err)
	}
	if n := s.idx.present.Load(); n > (aheadPieces+2)*piecePages { // at the beginning, and where it was written
		t.Errorf("one page written, %d index pages exist", n)
	}
	w.Discard(0, s.Pages())
	if err := w.Read(s.Pages()-1, 0, page[:]); err != nil || page != [PageSize]byte{} {
		t.Fatalf("discarded page: %v", err)
	}
}

// Pages written here and there on a huge device take a page of the index and one of the ages each,
// at the most.
func TestIndexOfScatteredPages(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 40, MaxMemory: 1 << 34})
	const scattered = 2000
	before := taken(t, s)
	for n := range uint64(scattered) {
		write(t, s, n*2654435761%s.Pages(), content{uint32(n), 1, compressible}.bytes())
	}
	objects, index := int64(s.Stats().ComprDataSize), taken(t, s)-before
	if most := objects + scattered*2*PageSize + 16<<20; index > most {
		t.Errorf("%d scattered pages, whose objects take %d bytes, take %d, want %d at the most", scattered, objects, index, most)
	}
}

// Memory of each kind has one descriptor, and none once it is closed.
func TestMemoryHasOneDescriptor(t *testing.T) {
	open := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := open()
	for _, kind := range []MemoryKind{MemoryMemfd, MemoryNoswap} {
		m, err := NewMemory(kind)
		if err != nil {
			t.Logf("%s: %v", kind, err) // it needs privileges
		} else if n := open() - before; n != 1 {
			t.Errorf("%s has %d descriptors open", kind, n)
		}
		if err == nil {
			err = m.Close()
		}
		if n := open() - before; n != 0 {
			t.Errorf("%s leaves %d descriptors open: %v", kind, n, err)
		}
	}
}
