// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// A waiting write fails after two passes that began after it and could not help. A pass under way
// when it begins to wait counts for nothing: it may be past the place where it would have helped.
func TestWaitCountsPassesThatBeginLater(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20})
	s.quiesce() // no pass but those of the test
	defer s.resume()
	s.patience = time.Hour
	s.full.Store(true)
	defer s.full.Store(false)
	begun := func(n uint64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.begun += n
	}
	ends := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = s.begun
	}
	begun(1)
	w, crowded := s.waitForMemory(false), s.waitForMemory(true)
	ends()
	if w.over() || w.failed != 0 {
		t.Error("the pass that was under way counts")
	}
	for pass := range 2 {
		if begun(1); w.over() {
			t.Errorf("it is over before pass %d has ended", pass)
		}
		ends()
		if over := w.over(); over != (pass == 1) || w.failed != pass+1 {
			t.Errorf("after %d passes in vain it is over: %v", w.failed, over)
		}
	}
	if !crowded.over() {
		t.Error("one more than may wait waits in a full store")
	}
	s.full.Store(false)
	if crowded.over() {
		t.Error("one more than may wait fails while the maintainer is only behind")
	}
}

// While room is being made all writes wait, as many as there are, and fail once it is not: each
// after passes in vain or its patience, and no later than reliefWait.
func TestWaitForRelief(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20})
	s.quiesce()
	defer s.resume()
	s.patience = 0
	s.full.Store(true)
	s.relief.Store(true)
	defer s.full.Store(false)
	w, crowded := s.waitForMemory(false), s.waitForMemory(true)
	alone := s.waitForMemory(true)
	alone.relies = false
	for range 3 {
		s.mu.Lock()
		s.begun++
		s.ended = s.begun
		s.mu.Unlock()
		if w.over() || crowded.over() || w.failed+crowded.failed != 0 {
			t.Fatal("a write does not wait while room is being made")
		}
	}
	if !alone.over() {
		t.Error("what makes room waits for itself")
	}
	w.longest = time.Now()
	waitUntil(t, w.over)
	s.relief.Store(false)
	if !crowded.over() {
		t.Error("one more than may wait waits where no room is made")
	}
}

// With FullStall a write waits for pages that are freed, unless as many as may wait do so already
// or it packs; with FullError no relief is asked for.
func TestWaitByOnFull(t *testing.T) {
	for _, c := range []struct {
		on    OnFull
		stall bool
	}{{"", false}, {FullSpill, false}, {FullStall, true}, {FullError, false}} {
		t.Run(string(c.on), func(t *testing.T) {
			var asked atomic.Int32
			s := newStore(t, Config{Disksize: 64 << 20, MemLimit: 8 << 20, MaxWaiting: 1, OnFull: c.on, MakeRoom: func() bool {
				asked.Add(1)
				return false
			}})
			s.patience = 10 * maxWait // not what ends a wait here
			s.Stall(true)
			w := s.Acquire()
			w.packs = true // which does not stall
			stored := uint64(0)
			for w.Write(stored, 0, content{uint32(stored), 1, random}.bytes()) == nil {
				stored++
			}
			w.packs = false
			w.Release()
			waitUntil(t, s.full.Load)
			if got := asked.Load() > 0; got != (c.on != FullError) {
				t.Errorf("relief is asked for: %v", got)
			}
			done := make(chan error, 1)
			go func() { done <- tryWrite(s, stored, 1) }()
			select {
			case err := <-done:
				if c.stall || !errors.Is(err, ErrFull) {
					t.Errorf("the write ends: %v", err)
				}
				return
			case <-time.After(2 * maxWait):
				if !c.stall {
					t.Fatal("the write waits")
				}
			}
			if err := tryWrite(s, stored+1, 1); !errors.Is(err, ErrFull) {
				t.Errorf("one more than may wait: %v", err)
			}
			w = s.Acquire()
			w.Discard(0, stored/2)
			w.Release()
			if err := <-done; err != nil {
				t.Errorf("after pages were freed: %v", err)
			}
		})
	}
}

// The pages of a request stall together for reliefWait at the most, and only while they may; those
// of what packs do not.
func TestStallEnds(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20, OnFull: FullStall})
	w := s.Acquire()
	w.stallEnd = time.Now()
	if w.Release(); !w.stallEnd.IsZero() {
		t.Error("the next request goes on with the wait of the one before")
	}
	s.quiesce() // w is not in use
	defer s.resume()
	s.quiet.Store(false)
	s.patience = 0
	s.full.Store(true)
	defer s.full.Store(false)
	if first := w.waitForMemory(false); first.stalls {
		t.Error("a new store has writes stall")
	}
	s.Stall(true)
	began := time.Now()
	first := w.waitForMemory(false)
	if d := first.longest.Sub(began); d < reliefWait || d > reliefWait+time.Minute || first.over() {
		t.Errorf("it waits up to %v", d)
	}
	w.stallEnd = w.stallEnd.Add(-time.Second) // as if that had passed
	if second := w.waitForMemory(false); second.longest.After(first.longest) {
		t.Error("the next page of a request may wait as long again")
	}
	first.longest = time.Now()
	waitUntil(t, first.over)
	for _, end := range []func(){func() { s.Stall(false) }, func() { s.quiet.Store(true) }} {
		again := w.waitForMemory(false)
		if again.over() {
			t.Error("the next page does not wait")
		}
		end()
		waitUntil(t, again.over)
		s.Stall(true)
	}
	if w.packs = true; w.waitForMemory(false).stalls {
		t.Error("what packs stalls")
	}
}

// A full store asks whether room is being made, and a write that waited for it succeeds.
func TestFullStoreIsRelieved(t *testing.T) {
	var relief atomic.Bool
	var asked atomic.Int32
	s := newStore(t, Config{Disksize: 64 << 20, MemLimit: 8 << 20, MaxWaiting: 1, MakeRoom: func() bool {
		asked.Add(1)
		return relief.Load()
	}})
	stored := fillUp(t, s)
	if asked.Load() == 0 {
		t.Error("it did not ask")
	}
	relief.Store(true)
	s.poke()
	waitUntil(t, s.relief.Load)
	const writers = 3
	done := make(chan error, writers)
	for i := range uint64(writers) {
		go func() { done <- tryWrite(s, stored+i, 1) }()
	}
	select {
	case err := <-done:
		t.Errorf("a write does not wait: %v", err)
	case <-time.After(2 * maxWait):
	}
	w := s.Acquire()
	w.Discard(0, stored/2)
	w.Release()
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	waitUntil(t, func() bool { return !s.relief.Load() })
	fillUp2 := func() error { // and one that waits in vain fails
		for page := stored; page < s.Pages(); page++ {
			if err := tryWrite(s, page, 1); err != nil {
				return err
			}
		}
		return nil
	}
	relief.Store(false)
	if err := fillUp2(); !errors.Is(err, ErrFull) {
		t.Errorf("without relief: %v", err)
	}
}

// A maintainer that is stuck holds a write up for no longer than its patience.
func TestWaitEnds(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20})
	if w := s.waitForMemory(false); w.over() {
		t.Error("it is over at once")
	}
	s.patience = 0
	w := s.waitForMemory(false)
	waitUntil(t, w.over)
}

// A request that begins to wait for memory says so, once, wherever it waits: the thread that serves
// it gives its turn to another.
func TestWaitingForMemoryIsTold(t *testing.T) {
	const disksize = 2 * populateUpTo
	s := newStore(t, Config{Disksize: disksize, MemLimit: limitOf(disksize, 6), MaxMemory: 1 << 26})
	stored := fillUp(t, s)
	parked := func() (n int) {
		for _, w := range s.workers {
			if w.parked.Load() {
				n++
			}
		}
		return n
	}
	for name, page := range map[string]uint64{"segment": stored, "index page": s.Pages() - 1} {
		s.passMu.Lock() // the maintainer makes none
		s.patience = time.Hour
		var told, asForMemory atomic.Int32
		done := make(chan error, 1)
		go func() {
			w := s.Acquire()
			defer w.Release()
			w.OnWait(func(forMemory bool) {
				told.Add(1)
				if forMemory {
					asForMemory.Add(1)
				}
			})
			done <- w.Write(page, 0, content{uint32(page), 1, random}.bytes())
		}()
		waitUntil(t, func() bool { return told.Load() > 0 && parked() == 1 })
		select {
		case err := <-done:
			t.Errorf("%s: it did not wait: %v", name, err)
			done <- err
		default:
		}
		s.passMu.Unlock()
		<-done // there is no memory; or a pass has moved some together
		if told.Load() != 1 || asForMemory.Load() != 1 || parked() != 0 || s.waiting.Load() != 0 {
			t.Errorf("%s: told %d times, %d times for memory; %d workers are parked, %d wait", name, told.Load(), asForMemory.Load(), parked(), s.waiting.Load())
		}
	}
	w := s.Acquire()
	w.OnWait(func(bool) { t.Error("told of a request that does not wait") })
	if err := w.Write(0, 0, make([]byte, PageSize)); err != nil {
		t.Error(err)
	}
	w.Release()
	if w.onWait != nil {
		t.Error("a later request would be told of too")
	}
}

// At the memory limit an index page gets the memory of a ready segment, and the rest of that stays
// free. An attempt that fails costs a segment and nothing else. Check counts all of it, at the end
// of the test too.
func TestIndexPagesAtTheLimit(t *testing.T) {
	const disksize, segments = 8 * populateUpTo, 12
	var deny atomic.Bool
	s := newStore(t, Config{Disksize: disksize, MemLimit: limitOf(disksize, segments), MaxMemory: 1 << 26, AllocHook: func(take func() error) error {
		if deny.Load() {
			return ErrNoMemory
		}
		return take()
	}})
	next := s.image.IndexPages / 2
	for _, c := range []struct {
		name       string
		cede, deny bool
		want       bool
		segments   int // given up
	}{
		{"without ceding", false, false, false, 0},
		{"the machine has no memory", true, true, false, 1},
		{"now it has", true, false, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.quiesce()
			for s.grow() == nil {
			}
			reserve, used := s.reserve(), s.used()
			if limit := int64(s.limit.Load()); used+image.SegmentSize <= limit || c.cede && reserve < 3 {
				t.Fatalf("%d bytes are used of %d, %d segments are ready", used, limit, reserve)
			}
			// More than is left below the limit.
			end := next + uint64(int64(s.limit.Load())-used)/PageSize + 1
			deny.Store(c.deny)
			if got := s.idx.take(next, end, c.cede); got != c.want {
				t.Errorf("index pages %d to %d: %v", next, end, got)
			}
			deny.Store(false)
			if c.want {
				c.segments = 1
				next = end
			}
			if got := reserve - s.reserve(); got != c.segments {
				t.Errorf("%d segments were given up, want %d", got, c.segments)
			}
			if now := s.used(); !c.want && now != used-int64(c.segments)*image.SegmentSize {
				t.Errorf("%d bytes are counted, were %d", now, used)
			}
			s.resume()
			holds(t, s)
		})
	}
}

// The last ready segment is the compactor's, and is given up for nothing.
func TestLastSegmentIsNotCeded(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20})
	s.quiesce()
	for s.reserve() > 1 {
		if !s.cedeSegment(0) {
			t.Fatalf("none of %d segments is given up", s.reserve())
		}
	}
	used := s.used()
	if s.cedeSegment(PageSize) || s.used() != used || s.reserve() != 1 {
		t.Errorf("%d segments are ready, %d bytes are counted of %d", s.reserve(), s.used(), used)
	}
	s.resume()
}

// The limit itself may be reached, and not passed.
func TestLimitIsReached(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	s.quiesce()
	defer s.resume()
	used := s.used()
	s.limit.Store(uint64(used) + 3*PageSize)
	defer s.limit.Store(0)
	for n, want := range map[int64]bool{3*PageSize + 1: false, 3 * PageSize: true} {
		if got := s.charge(n); got != want {
			t.Errorf("%d bytes of %d: %v", n, 3*PageSize, got)
		} else if got {
			s.charged.Add(-n)
		}
	}
}

// The least limit is what a device takes for the segments without which it can store nothing.
func TestLeastLimit(t *testing.T) {
	cfg := withAlgorithm(t, Config{Disksize: 1 << 20})
	least := LeastLimit(cfg)
	if want := limitOf(cfg.Disksize, minSegments); least != want {
		t.Errorf("the least limit is %d, want %d", least, want)
	}
	cfg.Backing = newBacking(t, 10)
	if more := LeastLimit(cfg); more != least+image.SegmentSize {
		t.Errorf("with a backing device it is %d, without %d", more, least)
	}
	cfg.Backing, cfg.MemLimit = nil, least-1
	if _, err := Create(newMemory(t), cfg); !errors.Is(err, ErrConfig) {
		t.Errorf("a byte less: %v, want ErrConfig", err)
	}
}

// A write of part of a page waits for memory before it takes the page's lock, for which others
// would wait too.
func TestWaitingWriteHoldsNoLock(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20, MemLimit: 4 << 20})
	w := s.Acquire()
	defer w.Release()
	waits := 0
	for page := range s.Pages() {
		w.OnWait(func(bool) {
			if waits++; !s.lock(page).TryLock() {
				t.Errorf("page %d is locked while its write waits", page)
				return
			}
			s.lock(page).Unlock()
		})
		if err := w.Write(page, 1, content{uint32(page), 1, random}.bytes()[1:]); errors.Is(err, ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if waits == 0 {
		t.Error("no write has waited")
	}
}
