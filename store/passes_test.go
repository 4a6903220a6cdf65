// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// Writes pause once there was none for a while.
func TestPaused(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	s.passMu.Lock() // the maintainer looks at the same
	defer s.passMu.Unlock()
	now := time.Now()
	for _, c := range []struct {
		writes bool
		after  time.Duration
		want   bool
	}{
		{true, 0, false}, {false, settleEvery - 1, false}, {false, settleEvery, true}, {true, 2 * settleEvery, false}, {false, 3 * settleEvery, true},
	} {
		if c.writes {
			write(t, s, 1, content{1, uint32(c.after), random}.bytes())
		}
		if got := s.paused(now.Add(c.after)); got != c.want {
			t.Errorf("after %v, with a write before: %v, writes pause: %v", c.after, c.writes, got)
		}
	}
}

// noisy is a store of pages that do not compress.
func noisy(t *testing.T, pages uint64) *Store {
	t.Helper()
	s := newStore(t, Config{Disksize: 4 * pages * PageSize})
	for page := range pages {
		write(t, s, page, content{uint32(page), 1, random}.bytes())
	}
	return s
}

// A lowered limit is denied once compaction gives nothing more back, and not before.
func TestSqueezeEmptiesFirst(t *testing.T) {
	s := noisy(t, 4<<10)
	s.passMu.Lock() // the test does what the maintainer would
	defer s.passMu.Unlock()
	w := s.Acquire()
	for page := range uint64(4 << 10) {
		if page%4 != 0 {
			w.Discard(page, 1)
		}
	}
	w.Release()
	before := s.used()
	s.limit.Store(uint64(before) / 16)
	again, denied := s.squeeze()
	if again == 0 || denied {
		t.Errorf("at first it looks again after %v, denied: %v", again, denied)
	}
	for n := 0; !denied; n++ {
		if again, denied = s.squeeze(); n > 1000 {
			t.Fatal("it is never denied")
		}
	}
	if used := s.used(); again != 0 || used > before*2/3 {
		t.Errorf("in the end %d bytes of %d are used, it looks again after %v", used, before, again)
	}
	s.limit.Store(0)
}

// A lowered limit leaves no recount under way, for which writes would wait.
func TestSqueezeEndsRecount(t *testing.T) {
	s := noisy(t, 1<<10)
	s.passMu.Lock() // the test does what the maintainer would
	defer s.passMu.Unlock()
	s.recount.active, s.recount.next = true, s.image.IndexPages
	s.limit.Store(uint64(s.used()) / 2)
	for n, denied := 0, false; !denied || s.recount.active; n++ {
		if _, denied = s.squeeze(); n > 1000 {
			t.Fatalf("denied: %v, with a recount under way: %v", denied, s.recount.active)
		}
	}
	s.limit.Store(0)
}

// Each copy of the bitmap of index pages that differs from the other two becomes the same again.
func TestMendsEachCopy(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 30})
	write(t, s, 7*image.EntriesPerPage, content{1, 1, random}.bytes())
	s.passMu.Lock()
	defer s.passMu.Unlock()
	x := &s.idx
	want := x.word(0)
	if want == 0 {
		t.Fatal("no index page exists")
	}
	for i, flip := range []func(){
		func() { x.bitmap[0].Store(want ^ 1<<7) }, func() { x.twins[0][0].Store(want ^ 1<<7) }, func() { x.twins[1][0].Store(want ^ 1<<7) },
	} {
		flip()
		x.mended = 0
		x.mend()
		if x.bitmap[0].Load() != want || x.twins[0][0].Load() != want || x.twins[1][0].Load() != want {
			t.Errorf("copy %d: %#x, %#x and %#x, want %#x", i, x.bitmap[0].Load(), x.twins[0][0].Load(), x.twins[1][0].Load(), want)
		}
	}
}
