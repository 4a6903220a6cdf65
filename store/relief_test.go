// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// No write of several at a time fails as long as pages are moved to a backing device, whatever
// their sizes are.
func TestWritesWaitForTheBackingDevice(t *testing.T) {
	const pages, writers = 20_000, 4
	asked := make(chan struct{}, 1)
	s := newStore(t, Config{Disksize: pages * PageSize, MemLimit: 8 << 20, Backing: newBacking(t, pages), MakeRoom: func() bool {
		select {
		case asked <- struct{}{}:
		default:
		}
		return true
	}})
	stop, relieved := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(relieved)
		for {
			select {
			case <-stop:
				return
			case <-asked:
			}
			left := 4096
			_, err := s.WriteBack(WritebackConfig{Pages: everything.Pages, Grant: func(n int) (int, error) {
				n = min(n, left)
				left -= n
				return n, nil
			}})
			if err != nil && left > 0 {
				t.Errorf("%d pages before the end: %v", left, err)
			}
		}
	}()
	var next atomic.Uint64
	var all sync.WaitGroup
	for g := range uint64(writers) {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(g, 1))
			for page := next.Add(1) - 1; page < pages; page = next.Add(1) - 1 {
				if err := tryWriteKind(s, page, []contentKind{compressible, barelyCompressible, compressible, alike}[rng.IntN(4)]); err != nil {
					t.Errorf("page %d: %v", page, err)
					return
				}
			}
		})
	}
	all.Wait()
	close(stop)
	<-relieved
	holds(t, s)
}

func tryWriteKind(s *Store, page uint64, kind contentKind) error {
	w := s.Acquire()
	defer w.Release()
	return w.Write(page, 0, content{uint32(page), 1, kind}.bytes())
}

// Writes take all that is freed each time, and the stubs of the next pages have room all the same.
func TestStubsHaveRoomInAFullStore(t *testing.T) {
	const pages = 20_000
	s := newStore(t, Config{Disksize: pages * PageSize, MemLimit: 8 << 20, Backing: newBacking(t, pages)})
	next := uint64(0)
	for moved := uint64(0); moved < 3*image.SegmentSize/64; {
		for ; tryWrite(s, next, 1) == nil; next++ {
			if next == pages-1 {
				t.Fatal("the device is too small")
			}
		}
		left := 200
		did, err := s.WriteBack(WritebackConfig{Pages: everything.Pages, Grant: func(n int) (int, error) {
			n = min(n, left)
			left -= max(n, 0)
			return n, nil
		}})
		if !errors.Is(err, ErrBudget) || left > 0 {
			t.Fatalf("after %d pages %d more were moved: %v", moved, did.Pages, err)
		}
		moved += did.Pages
	}
}

// Room is made during a walk over clusters too, which takes seconds on a large device and may free
// nothing: writes would fail before it ends. Where none is made, few writes wait for it, so that
// reads go on.
func TestWaitingDuringAWalkOverClusters(t *testing.T) {
	var relieves atomic.Bool
	s := newStore(t, Config{Disksize: populateUpTo, MemLimit: limitOf(populateUpTo, 6), MakeRoom: relieves.Load})
	fillUp(t, s)
	defer s.unmaintained()()
	relieves.Store(true)
	s.clusters.left.Store(1)
	s.pass(time.Hour)
	if !s.clusters.pass.under || s.full.Load() || !s.relief.Load() {
		t.Errorf("a walk is under way: %v; the store is full: %v, and room is made: %v", s.clusters.pass.under, s.full.Load(), s.relief.Load())
	}
	relieves.Store(false)
	s.pass(time.Hour)
	one, tooMany := s.waitForMemory(false), s.waitForMemory(true)
	if one.over() || !tooMany.over() || !s.clusters.pass.under || s.full.Load() {
		t.Errorf("a walk is under way: %v; the store is full: %v; a write waits: %v, one that is one too many does: %v",
			s.clusters.pass.under, s.full.Load(), !one.over(), !tooMany.over())
	}
}

// Once requests are served, a write waits for relief from the first on, also one more than may
// wait: what a successor found before, while it made no room, counts no longer.
func TestStallForgetsThatTheStoreIsFull(t *testing.T) {
	var relief atomic.Bool
	s := newStore(t, Config{Disksize: 64 << 20, MemLimit: 8 << 20, MakeRoom: relief.Load})
	for stored := uint64(0); tryWrite(s, stored, 1) == nil; stored++ {
		// until it is full
	}
	waitUntil(t, s.full.Load)
	defer s.unmaintained()()
	s.full.Store(true)
	s.denied.Store(true)
	relief.Store(true)
	s.Stall(true)
	if m := s.waitForMemory(true); m.over() {
		t.Error("the write fails")
	}
}
