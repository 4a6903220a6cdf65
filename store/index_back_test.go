// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// spreadPages are pages of a large device, each alone in its index page and its page of ages.
func spreadPages(s *Store, n uint64) (pages []uint64) {
	for i := range n {
		pages = append(pages, s.Pages()/n*i+i%image.EntriesPerPage)
	}
	return pages
}

func discardAll(s *Store) {
	w := s.Acquire()
	w.Discard(0, s.Pages())
	w.Release()
}

// A device whose limit index pages alone fill, by writes and discards all over it, takes writes
// again, and as many as before.
func TestSpreadWritesAndDiscardsDoNotFill(t *testing.T) {
	s := newStore(t, Config{Disksize: 100 << 30, MemLimit: 16 << 20, MaxMemory: 1 << 28})
	pages := spreadPages(s, 4096) // 32 MiB of index pages and of ages
	for round := range uint32(2) {
		for _, page := range pages {
			// On a busy machine the walk that gives back index pages may be late for one write.
			waitUntil(t, func() bool {
				err := tryWrite(s, page, round)
				if err != nil && !errors.Is(err, ErrFull) {
					t.Fatalf("round %d, page %d: %v, with %d bytes stored", round, page, err, s.Stats().OrigDataSize)
				}
				return err == nil
			})
			if !bytes.Equal(read(t, s, page), content{uint32(page), round, random}.bytes()) {
				t.Fatalf("round %d: page %d is wrong", round, page)
			}
			w := s.Acquire()
			w.Discard(page, 1)
			w.Release()
		}
	}
}

// After a discard of all the index takes what it did at first, but for where writes may go on,
// whether writes need memory or not; compaction takes as much as it can at once, and so does the
// next process that opens the image.
func TestDiscardedIndexGoesBack(t *testing.T) {
	mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 100 << 30, MaxMemory: 1 << 28})
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.idx.has(aheadPieces * piecePages) })
	fresh := s.Stats().IndexBytes
	fill := func() {
		t.Helper()
		for _, page := range spreadPages(s, 600) {
			write(t, s, page, content{uint32(page), 1, random}.bytes())
		}
		if now := s.Stats().IndexBytes; now < fresh+600*PageSize {
			t.Fatalf("the index takes %d bytes, a fresh one %d", now, fresh)
		}
	}
	back := func() bool { return s.Stats().IndexBytes <= fresh+uint64(2*len(s.workers)*PageSize) }
	fill()
	discardAll(s)
	waitUntil(t, back)
	fill()
	discardAll(s)
	s.CompactNow(nil)
	if !back() {
		t.Errorf("after compaction the index takes %d bytes, a fresh one %d", s.Stats().IndexBytes, fresh)
	}
	fill()
	for _, page := range spreadPages(s, 600) {
		s.idx.swap(page, 0) // and dies before the maintainer has seen it
	}
	s.die()
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, back)
	finish(t, s)
}

// While requests are at pages of a few index pages that come and go, each page holds what was
// written last.
func TestIndexPagesComeAndGoUnderRequests(t *testing.T) {
	s := newStore(t, Config{Disksize: 4 << 30, MaxMemory: 1 << 28})
	const writers, apart = 4, 300 * image.EntriesPerPage
	var gone atomic.Int64
	var wg sync.WaitGroup
	for g := range uint64(writers) {
		wg.Go(func() {
			p := make([]byte, PageSize)
			for i := range uint32(3000) {
				page := uint64(i%7)*apart + 8*g // writers have clusters of their own, in the same index pages
				w := s.Acquire()
				err := w.Write(page, 0, content{uint32(page), i, compressible}.bytes())
				if err == nil {
					err = w.Read(page, 0, p)
				}
				if err != nil || !bytes.Equal(p, content{uint32(page), i, compressible}.bytes()) {
					t.Errorf("page %d: %v, or not what was written", page, err)
				}
				w.Discard(page, 1)
				if err := w.Read(page, 0, p); err != nil || !bytes.Equal(p, make([]byte, PageSize)) {
					t.Errorf("page %d: %v, or not what was discarded", page, err)
				}
				w.Release()
				if t.Failed() {
					return
				}
			}
		})
	}
	stop := make(chan struct{})
	var walking sync.WaitGroup
	walking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			before := s.idx.present.Load()
			s.idx.giveBackAll(func() bool { return false })
			if s.idx.present.Load() < before {
				gone.Add(1)
			}
			for page := s.NextStored(0); page < s.Pages(); page = s.NextStored(page + 1) {
				s.PageState(page)
			}
			s.MarkIdle(0)
		}
	})
	wg.Wait()
	close(stop)
	walking.Wait()
	if gone.Load() == 0 {
		t.Error("no index page went")
	}
}

// An index page stays that a request is at, is about to write to, or that holds something. One that
// leaves exists again once it is wanted, and keeps its memory while a worker may look at it.
func TestIndexPageLeaves(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 30, MaxMemory: 1 << 28})
	defer s.unmaintained()()
	const n = 1000
	x, page := &s.idx, uint64(n*image.EntriesPerPage+9)
	leaves := func(why string, want bool) {
		t.Helper()
		x.giving.under, x.giving.next = true, n
		x.leaveSome(true)
		if got := !x.has(n); got != want {
			t.Errorf("%s: it leaves: %v", why, got)
		}
	}
	if !x.take(n, n+1, false) {
		t.Fatal("no memory")
	}
	used := s.used()
	x.swap(page, image.SameEntry(image.SameSmall, 1))
	leaves("it holds an entry", false)
	x.swap(page, 0)
	s.workers[1].lastIndexPage.Store(n + 1)
	leaves("a write is about to go there", false)
	if x.leave(n) || !x.has(n) {
		t.Error("it leaves though a write has been told that it exists")
	}
	s.workers[1].lastIndexPage.Store(0)
	s.lock(page).Lock()
	leaves("a request has the lock", false)
	s.lock(page).Unlock()
	s.lock(page).Lock() // none of the others is left locked
	s.lock(page).Unlock()
	leaves("nothing is in the way", true)
	busy := s.Acquire()
	if x.release() {
		t.Error("its memory goes while a worker may look at it")
	}
	if !x.take(n+1, n+2, false) || !x.has(n) || len(x.giving.pages) != 0 {
		t.Error("it does not come back with its neighbour")
	}
	leaves("again", true)
	clear(x.giving.clear)
	x.giving.held.RLock()
	busy.Release()
	if x.release() {
		t.Error("its memory goes while a walk may look at it")
	}
	x.giving.held.RUnlock()
	if !x.release() || x.has(n) || x.has(n+1) || s.used() != used-2*PageSize {
		t.Errorf("%d bytes are counted, want %d: both are gone, with their ages", s.used(), used-2*PageSize)
	}
	if err := tryWrite(s, page, 1); !errors.Is(err, ErrFull) { // there is no maintainer
		t.Errorf("a write to it: %v", err)
	}
	holds(t, s)
}
