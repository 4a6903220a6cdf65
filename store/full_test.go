// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// fillUp writes incompressible pages until the store takes no more.
func fillUp(t *testing.T, s *Store) (stored uint64) {
	t.Helper()
	w := s.Acquire()
	defer w.Release()
	for page := range s.Pages() {
		err := w.Write(page, 0, content{uint32(page), 1, random}.bytes())
		if errors.Is(err, ErrFull) {
			return page
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the device holds everything: the limit does not bind")
	return 0
}

func TestFullStore(t *testing.T) {
	const limit = 8 << 20
	s := newStore(t, Config{Disksize: 64 << 20, MemLimit: limit})
	stored := fillUp(t, s)
	if most := uint64(limit / PageSize); stored < most*85/100 || stored > most {
		t.Errorf("%d raw pages fit into %d bytes", stored, limit)
	}
	st := s.Stats()
	if st.MemUsedTotal > limit || st.MemUsedMax > limit || st.FailedWrites.Count != 1 {
		t.Errorf("memory used %d, at the most %d, limit %d; %d failed writes", st.MemUsedTotal, st.MemUsedMax, limit, st.FailedWrites.Count)
	}
	for page := range stored { // reads go on
		if !bytes.Equal(read(t, s, page), content{uint32(page), 1, random}.bytes()) {
			t.Fatalf("page %d is wrong in a full store", page)
		}
	}
	w := s.Acquire()
	err := w.Write(0, 0, content{0, 2, random}.bytes()) // an overwrite needs space before it frees any
	w.Release()
	if err != nil && (!errors.Is(err, ErrFull) || !bytes.Equal(read(t, s, 0), content{0, 1, random}.bytes())) {
		t.Errorf("overwrite in a full store: %v, and the page is not what it was", err)
	}
	write(t, s, s.Pages()-1, make([]byte, PageSize)) // same-filled pages take nothing

	w = s.Acquire()
	w.Discard(0, stored/2)
	w.Release()
	for page := range stored / 3 {
		write(t, s, page, content{uint32(page), 3, random}.bytes())
	}
}

// Freed pages between living ones are space again, by compaction.
func TestFullStoreCompacts(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20, MemLimit: 8 << 20})
	stored := fillUp(t, s)
	w := s.Acquire()
	for page := uint64(0); page < stored; page += 2 {
		w.Discard(page, 1)
	}
	w.Release()
	for page := uint64(0); page < stored*8/10; page += 2 {
		write(t, s, page, content{uint32(page), 2, random}.bytes())
	}
	if s.Stats().PagesCompacted == 0 {
		t.Error("nothing was compacted")
	}
	for page := uint64(1); page < stored; page += 2 {
		if !bytes.Equal(read(t, s, page), content{uint32(page), 1, random}.bytes()) {
			t.Fatalf("page %d is wrong after compaction", page)
		}
	}
}

func TestMemoryLimitBelowTheIndex(t *testing.T) {
	_, err := Create(newMemory(t), withAlgorithm(t, Config{Disksize: populateUpTo, MemLimit: populateUpTo / PageSize}))
	if !errors.Is(err, ErrConfig) {
		t.Fatalf("%v, want ErrConfig", err)
	}
}

// Check stops everything and lets it go again, also where writers are waiting
// for memory at that moment.
func TestCheckWhileWritersWaitForMemory(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20, MemLimit: 8 << 20})
	fillUp(t, s)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for g := range uint32(4) {
		writers.Go(func() {
			for i := uint32(0); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				page := i*4 + g
				w := s.Acquire()
				err := w.Write(uint64(page)%s.Pages(), 0, content{page, i, random}.bytes())
				w.Release()
				if err != nil && !errors.Is(err, ErrFull) {
					t.Error(err)
				}
				time.Sleep(100 * time.Microsecond) // Check takes a worker that is free, and does not queue
			}
		})
	}
	for range 50 {
		holds(t, s)
	}
	close(stop)
	writers.Wait()
}

// Requests that are at a page of each segment let the compactor empty none. Once they are gone it
// gathers what was freed all the same.
func TestFullStoreIsGatheredLater(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20, MemLimit: 8 << 20})
	stored := fillUp(t, s)
	const each = image.SegmentSize / PageSize / 2 // a page at least in each segment
	held := map[sync.Locker]bool{}
	for page := uint64(0); page < stored; page += each {
		if l := s.lock(page); !held[l] {
			l.Lock()
			held[l] = true
		}
	}
	var freed []uint64
	for page := range stored {
		if page%3 == 1 && !held[s.lock(page)] {
			w := s.Acquire()
			w.Discard(page, 1)
			w.Release()
			freed = append(freed, page)
		}
	}
	for range 10 {
		s.pass(time.Hour)
	}
	for l := range held {
		l.Unlock()
	}
	for i, page := range freed[:len(freed)*3/4] {
		if err := tryWrite(s, page, 2); err != nil {
			t.Fatalf("after %d pages of %d: %v", i, len(freed), err)
		}
	}
	holds(t, s)
}

// takeFree takes n workers as soon as they are released, or those that are.
func (s *Store) takeFree(n int) (free []*Worker) {
	for deadline := time.Now().Add(10 * time.Second); len(free) < n && time.Now().Before(deadline); {
		if w := s.tryAcquire(); w != nil {
			free = append(free, w)
		}
	}
	return free
}

// However many writers find a full store, some workers are left for reads: a number of writers may
// wait for memory, and the rest fail at once. The maintainer is stopped, so that waiting writers go
// on waiting.
func TestReadsNeedNotWaitForMemory(t *testing.T) {
	for _, most := range []int{0, 1} {
		const writers = 32
		s := newStore(t, Config{Disksize: 64 << 20, MemLimit: 8 << 20, MaxWaiting: most})
		fillUp(t, s)
		s.patience = time.Hour
		s.passMu.Lock()
		failed := make(chan error, writers)
		for page := range uint64(writers) {
			go func() { failed <- tryWrite(s, page, 2) }()
		}
		for range writers - s.mayWait {
			if err := <-failed; !errors.Is(err, ErrFull) {
				t.Errorf("%v, want ErrFull", err)
			}
		}
		free := s.takeFree(len(s.workers) - 1 - int(s.mayWait)) // a worker each waits
		if len(free) < 2 || most == 1 && len(free) != len(s.workers)-2 || s.waiting.Load() != s.mayWait {
			t.Errorf("%d workers are free for reads, %d writers wait", len(free), s.waiting.Load())
		}
		for _, w := range free {
			p := make([]byte, PageSize)
			if err := w.Read(0, 0, p); err != nil || !bytes.Equal(p, content{0, 1, random}.bytes()) {
				t.Errorf("page 0 is wrong: %v", err)
			}
			w.Release()
		}
		s.passMu.Unlock()
		for range s.mayWait {
			if err := <-failed; err != nil && !errors.Is(err, ErrFull) {
				t.Error(err)
			}
		}
	}
}
