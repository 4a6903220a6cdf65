// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// limitOf is the memory limit that leaves a device room for n segments.
func limitOf(disksize, n uint64) uint64 {
	g := image.NewGeometry(disksize, segmentsFor(Config{Disksize: disksize, MemLimit: 1 << 30}))
	return uint64(fixedBytes(g)) + n*image.SegmentSize
}

// tryWrite writes a random page as a request of its own.
func tryWrite(s *Store, page uint64, version uint32) error {
	w := s.Acquire()
	defer w.Release()
	return w.Write(page, 0, content{uint32(page), version, random}.bytes())
}

// A device that was filled and emptied takes as much again, whichever worker
// filled it and however little memory there is.
func TestEmptiedDeviceTakesPagesAgain(t *testing.T) {
	for _, n := range []uint64{minSegments, 6, 8} {
		s := newStore(t, Config{Disksize: 64 << 20, MemLimit: limitOf(64<<20, n)})
		var workers []*Worker
		for page := range uint64(4) { // each leaves a segment open
			w := s.Acquire()
			workers = append(workers, w)
			_ = w.Write(page, 0, content{uint32(page), 1, random}.bytes()) // it may be full
		}
		for _, w := range workers {
			w.Release()
		}
		stored := fillUp(t, s)
		w := s.Acquire()
		w.Discard(0, s.Pages())
		w.Release()
		again := uint64(0)
		for again < s.Pages() && tryWrite(s, again, 2) == nil {
			again++
		}
		if again+image.RawPerSegment < stored {
			t.Errorf("room for %d segments: it took %d pages, emptied only %d", n, stored, again)
		}
	}
}

// A request can write into the room that it has freed itself.
func TestRequestReusesWhatItFrees(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20, MemLimit: limitOf(64<<20, 5)})
	w := s.Acquire()
	defer w.Release()
	for round := range uint32(20) {
		for page := range uint32(60) {
			if err := w.Write(uint64(page), 0, content{page, round, random}.bytes()); err != nil {
				t.Fatalf("round %d, page %d: %v", round, page, err)
			}
		}
	}
}

// A segment that a reader keeps from being freed is freed soon after the reader has left, without
// another request.
func TestFreedAfterTheReaderLeft(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20, Algorithm: algorithm(t, "raw")})
	for page := range uint32(500) {
		write(t, s, uint64(page), content{page, 1, random}.bytes())
	}
	for deadline := time.Now().Add(10 * time.Second); !s.sleeping.Load() && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	e := s.idx.load(5)
	reader := s.Acquire()
	reader.beginRead()
	other := s.Acquire()
	other.Discard(0, 200)
	other.Release()
	reader.endRead()
	reader.Release()
	clear := func() bool {
		s.passMu.Lock()
		defer s.passMu.Unlock()
		return s.segment(e.Segment()).state() == segVoid || allBytes(s.image.Payload(e.Where(), e.Length()), invariant.Freed) ||
			allBytes(s.image.Payload(e.Where(), e.Length()), 0)
	}
	for deadline := time.Now().Add(5 * time.Second); !clear(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a freed page is still there")
		}
	}
}

// The object that the maintainer frees for one worker may be the last of another's segment, which
// it has looked at before.
func TestDesertedByTheMaintainer(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20})
	owner, other, reader := s.Acquire(), s.Acquire(), s.Acquire()
	if err := owner.Write(5, 0, content{5, 1, random}.bytes()); err != nil {
		t.Fatal(err)
	}
	owner.Release()
	n := s.idx.load(5).Segment()
	reader.beginRead()
	other.Discard(5, 1)
	other.Release()
	reader.endRead()
	reader.Release()
	waitUntil(t, func() bool { return s.segment(n).live() == 0 })
	waitUntil(t, func() bool { return s.segment(n).state() != segOpen })
}

// A segment whose owner was busy when the maintainer looked is not forgotten either.
func TestDesertedWhileItsOwnerIsBusy(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20})
	passes := func() (begun, ended uint64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.begun, s.ended
	}
	owner, other := s.Acquire(), s.Acquire()
	if err := owner.Write(5, 0, content{5, 1, random}.bytes()); err != nil {
		t.Fatal(err)
	}
	n := s.idx.load(5).Segment()
	other.Discard(5, 1)
	before, _ := passes()
	other.Release()
	waitUntil(t, func() bool { _, ended := passes(); return ended > before })
	owner.Release()
	waitUntil(t, func() bool { return s.segment(n).state() != segOpen })
}

// An emptied, idle device keeps no more than its reserve.
func TestIdleDeviceKeepsNothing(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20})
	before := s.used()
	var writers sync.WaitGroup
	for g := range uint64(4) {
		writers.Go(func() {
			for page := g; page < 4000; page += 4 {
				if err := tryWrite(s, page, 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	w := s.Acquire()
	w.Discard(0, s.Pages())
	w.Release()
	// A segment may stay open: nothing was written to it since it was taken.
	for deadline := time.Now().Add(10 * time.Second); s.used() > before+image.SegmentSize; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it keeps %d bytes more than when it was new", s.used()-before)
		}
	}
}

// The limit holds at every moment, also while index pages and segments are
// taken at the same time, and an index page gets its share of what there is.
func TestLimitBeyondPopulatedIndex(t *testing.T) {
	const disksize = steppedDisk
	for _, segments := range []uint64{minSegments, 20} {
		limit := limitOf(disksize, segments)
		s := newStore(t, Config{Disksize: disksize, MemLimit: limit, MaxMemory: 1 << 28})
		stop := make(chan struct{})
		var writers sync.WaitGroup
		writers.Go(func() { // keeps what there is in use
			for i := uint64(0); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				_ = tryWrite(s, i*7919%((segments-2)*image.RawPerSegment/2), uint32(i)) // it may be full
			}
		})
		taken := 0
		for i := range uint64(100) {
			w := s.Acquire()
			if w.Write(1<<20+i*image.EntriesPerPage, 0, make([]byte, PageSize)) == nil {
				taken++
			}
			w.Release()
			if now := s.used(); uint64(now) > limit {
				t.Fatalf("%d bytes are used, the limit is %d", now, limit)
			}
		}
		close(stop)
		writers.Wait()
		if segments > minSegments && taken < 90 {
			t.Errorf("%d of 100 pages got the index page they need", taken)
		}
		if peak := s.Stats().MemUsedMax; peak > limit {
			t.Errorf("%d bytes were used, the limit is %d", peak, limit)
		}
	}
}
