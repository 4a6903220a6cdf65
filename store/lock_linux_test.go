// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A fullKeeper locks the pieces that it had locked before it was full, and no others.
type fullKeeper struct {
	locked map[[2]int64]bool
	full   bool
	last   [2]int64 // asked for
}

func (k *fullKeeper) Write(p []byte) (int, error) {
	k.last = [2]int64{int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint64(p[8:]))}
	return len(p), nil
}

func (k *fullKeeper) Read(p []byte) (int, error) {
	p[0] = 0
	if !k.full {
		k.locked[k.last] = true
	} else if !k.locked[k.last] {
		p[0] = 1
	}
	return 1, nil
}

// A keeper that can lock no more is no reason not to serve what it has locked: a worker that
// carries on then has no memory for writes.
func TestOpenWithAKeeperThatLocksNoMore(t *testing.T) {
	mem, err := NewMemory(MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	keeper := &fullKeeper{locked: map[[2]int64]bool{}}
	mem.LockVia(keeper)
	s, err := Create(mem, withAlgorithm(t, Config{Disksize: 1 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	want := content{1, 1, random}.bytes()
	write(t, s, 1, want)
	only := s.image.SegmentAt(s.idx.load(1).Segment())
	maps.DeleteFunc(keeper.locked, func(piece [2]int64, _ bool) bool {
		return piece[0] >= s.image.SegmentAt(0) && piece[0] < s.image.AgePageAt(0) && piece[0] != only
	})
	finish(t, s)
	keeper.full = true
	if s, err = Open(mem, withAlgorithm(t, Config{})); err != nil {
		t.Fatalf("nothing is served: %v", err)
	}
	if !bytes.Equal(read(t, s, 1), want) {
		t.Error("the page is wrong")
	}
	if err := tryWrite(s, 2, 1); !errors.Is(err, ErrFull) {
		t.Errorf("%v, want ErrFull: nobody holds the memory that it takes", err)
	}
	finish(t, s)
	if err := mem.Close(); err != nil {
		t.Error(err)
	}
}

// A countingKeeper counts the pages that it was asked to lock.
type countingKeeper struct{ pages map[int64]bool }

func (k *countingKeeper) Write(p []byte) (int, error) {
	off, n := int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint64(p[8:]))
	for at := off; at < off+n; at += PageSize {
		k.pages[at] = true
	}
	return len(p), nil
}

func (k *countingKeeper) Read(p []byte) (int, error) {
	p[0] = 0
	return 1, nil
}

// A keeper is asked to lock all memory that a store takes, and a new one all that is there.
func TestKeeperLocksAll(t *testing.T) {
	for _, size := range []uint64{16 << 20, populateUpTo + 8<<30} {
		mem, err := NewMemory(MemoryMemfd)
		if err != nil {
			t.Fatal(err)
		}
		var s *Store
		for _, begin := range []func(*Memory, Config) (*Store, error){Create, Open, Open} {
			keeper := &countingKeeper{pages: map[int64]bool{}}
			mem.LockVia(keeper)
			if s, err = begin(mem, withAlgorithm(t, Config{Disksize: size, MaxMemory: 1 << 28})); err != nil {
				t.Fatal(err)
			}
			for page := uint64(0); page < s.Pages(); page += 1 + s.Pages()/900 {
				write(t, s, page, content{uint32(page), 1, random}.bytes())
			}
			s.quiesce()
			for off := int64(0); off < s.image.Size; off += PageSize {
				data, _, err := mem.nextData(off)
				if err != nil {
					t.Fatal(err)
				}
				if off = data; off < s.image.Size && !keeper.pages[off] {
					t.Errorf("size %d: the page at %d is not locked; segments begin at %d, ages at %d", size, off, s.image.SegmentAt(0), s.image.AgePageAt(0))
					break
				}
			}
			s.resume()
			finish(t, s)
		}
		if err := mem.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A keeper that cannot lock a piece says so, goes on with the next, and tells of the first error.
func TestKeeperThatCannotLock(t *testing.T) {
	mem, err := NewMemory(MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	if err := mem.file.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	ours, theirs := socketPair(t)
	served := make(chan error)
	go func() { served <- mem.ServeLocks(ours) }()
	worker := &Memory{kind: MemoryMemfd}
	worker.LockVia(theirs)
	for _, c := range []struct {
		off, n int64
		want   error
	}{{0, PageSize, nil}, {1 << 20, PageSize, errNotLocked}, {PageSize, PageSize, nil}, {1, PageSize, errNotLocked}} {
		if err := worker.lockInKeeper(c.off, c.n); !errors.Is(err, c.want) {
			t.Errorf("%d bytes at %d: %v, want %v", c.n, c.off, err, c.want)
		}
	}
	// A worker that dies takes no answer.
	if err := unix.Shutdown(int(theirs.Fd()), unix.SHUT_RD); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Write(make([]byte, lockRequest)); err != nil {
		t.Fatal(err)
	}
	if err := <-served; !errors.Is(err, ErrRange) || !strings.Contains(err.Error(), "at 1048576") {
		t.Errorf("the keeper's first error is %v", err)
	}
	if err := theirs.Close(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(ours.Close(), mem.Close()); err != nil {
		t.Error(err)
	}
}
