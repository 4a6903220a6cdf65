// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
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
	again, denied := s.shrinkToLimit()
	if again == 0 || denied {
		t.Errorf("at first it looks again after %v, denied: %v", again, denied)
	}
	for n := 0; !denied; n++ {
		if again, denied = s.shrinkToLimit(); n > 1000 {
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
		if _, denied = s.shrinkToLimit(); n > 1000 {
			t.Fatalf("denied: %v, with a recount under way: %v", denied, s.recount.active)
		}
	}
	s.limit.Store(0)
}

// Each copy of the bitmap of index pages that differs from the other two becomes the same again.
func TestMendsEachCopy(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 30})
	const word, want = 4, 1 << 7
	write(t, s, (64*word+7)*image.EntriesPerPage, content{1, 1, random}.bytes())
	s.passMu.Lock()
	defer s.passMu.Unlock()
	x := &s.idx
	if got := x.word(word); got != want {
		t.Fatalf("the index pages %#x exist", got)
	}
	for i, copy := range []*atomic.Uint64{&x.bitmap[word], &x.twins[0][word], &x.twins[1][word]} {
		for _, flipped := range []uint64{0, want | 1<<50} { // a page that exists is lost, or one is made up
			copy.Store(flipped)
			if got := x.word(word); got != want {
				t.Errorf("copy %d is %#x: the index pages %#x exist", i, flipped, got)
			}
			x.mended = word
			x.mend()
			if a, b, c := x.bitmap[word].Load(), x.twins[0][word].Load(), x.twins[1][word].Load(); a != want || b != want || c != want {
				t.Errorf("copy %d was %#x: %#x, %#x and %#x, want %#x", i, flipped, a, b, c, want)
			}
		}
	}
}

// CompactNow goes on for as long as it gains something.
func TestCompactNowEmptiesAll(t *testing.T) {
	s := noisy(t, 4<<10)
	defer s.unmaintained()()
	for page := range uint64(4 << 10) {
		if page%4 != 0 {
			discard(s, page, 1)
		}
	}
	pages, live := s.CompactNow(nil), int64(s.footprint())
	if used := s.backedBytes() - int64(s.reserve())*image.SegmentSize; pages < 2<<10 || used > live+live/8+2*image.SegmentSize {
		t.Errorf("%d pages are given back, and %d bytes of objects take %d", pages, live, used)
	}
}

// The compactor spends memory on other objects only where it can empty a segment with the rest: it
// has one ready, or room for all that is left of another.
func TestCompactorSpendsWhatItCanSpare(t *testing.T) {
	const pages = 16 * image.RawPerSegment // all segments are full, where one worker fills them
	s := newStore(t, Config{Disksize: 4 * pages * PageSize})
	w := s.Acquire()
	for page := range uint64(pages) {
		if err := w.Write(page, 0, content{uint32(page), 1, random}.bytes()); err != nil {
			t.Fatal(err)
		}
	}
	w.Release()
	defer s.unmaintained()()
	s.settleIdle(true)
	have := func(ready int, room uint64) {
		for s.reserve() > ready {
			s.giveUpReady(t)
		}
		s.compactor().open = openSegment{image.SegmentSize - room, image.SegmentSize}
	}
	check := func(what string, want bool) {
		t.Helper()
		if got := s.maySpend(1000); got != want {
			t.Errorf("%s: it may spend: %v", what, got)
		}
	}
	have(2, 0)
	check("two segments are ready, and no room is open", true)
	have(1, 1000)
	check("a segment is ready, and there is room", true)
	have(1, 999)
	check("a segment is ready, there is no room, and no other can be emptied", false)
	have(0, 50_000)
	check("nothing is ready, and no segment can be emptied", false)
	e := s.idx.load(0)
	for page := range uint64(pages) {
		if o := s.idx.load(page); page != 0 && o.Segment() == e.Segment() {
			discard(s, page, 1)
		}
	}
	left := uint64(s.segment(e.Segment()).live())
	have(0, 1000+left)
	check("there is room for what is left of a segment too", true)
	have(0, 999+left)
	check("there is too little room for that", false)
	have(0, 999)
	check("there is no room", false)
	s.compactor().open = openSegment{}
}

// giveUpReady gives a ready segment back, the last one too.
func (s *Store) giveUpReady(t *testing.T) {
	t.Helper()
	n, ok := s.tryTake(0)
	if !ok {
		t.Fatal("no segment is ready")
	}
	if err := s.release(n, segOpen, 0); err != nil {
		t.Fatal(err)
	}
}

// An object is the one that was copied if its codec, length and bytes are those, and it is the
// page's.
func TestHoldsWhatWasCopied(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20, Algorithm: algorithm(t, "lz4")})
	write(t, s, 1, content{1, 1, compressible}.bytes())
	write(t, s, 2, content{2, 1, compressible}.bytes())
	write(t, s, 3, content{3, 1, smallWord}.bytes())
	e, other := s.idx.load(1), s.idx.load(2)
	old := bytes.Clone(s.image.Payload(e.Where(), e.Length()))
	changed := bytes.Clone(old)
	changed[len(changed)-1]++
	for name, c := range map[string]struct {
		page uint64
		e    image.Entry
		id   codec.ID
		old  []byte
		want bool
	}{
		"it is":           {1, e, codec.LZ4, old, true},
		"another codec":   {1, e, codec.Zstd, old, false},
		"shorter":         {1, e, codec.LZ4, old[:len(old)-1], false},
		"other bytes":     {1, e, codec.LZ4, changed, false},
		"another page's":  {2, e, codec.LZ4, old, false},
		"another object":  {1, other, codec.LZ4, old, false},
		"nothing":         {1, 0, codec.LZ4, old, false},
		"same-filled":     {3, s.idx.load(3), s.idx.load(3).Codec(), nil, false},
		"beyond segments": {1, e.At(s.image.Segments * image.SegmentSize), codec.LZ4, old, false},
	} {
		if got := s.holds(c.page, c.e, c.id, c.old); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A pass may be over when a request frees the last object of a segment that another worker has
// open, or cannot free all because of a reader. So the maintainer is drowsy before it begins one,
// and the request wakes it again.
func TestFreedDuringAPass(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20})
	defer s.unmaintained()()
	owner, reader := s.Acquire(), s.Acquire()
	for page := range uint64(3) {
		if err := owner.Write(page, 0, content{uint32(page), 1, random}.bytes()); err != nil {
			t.Fatal(err)
		}
		if page < 2 { // the last one's segment stays open
			owner.seal()
		}
	}
	for _, c := range []struct {
		name    string
		request func(w *Worker)
		wakes   bool
	}{
		{"nothing", func(*Worker) {}, false},
		{"a deserted segment", func(w *Worker) { w.Discard(2, 1) }, true},
		{"a reader in the way", func(w *Worker) { reader.beginRead(); w.Discard(1, 1) }, true},
	} {
		select {
		case <-s.wake:
		default:
		}
		s.sleeping.Store(true)
		w := s.Acquire()
		c.request(w)
		w.Release()
		if wakes := len(s.wake) == 1; wakes != c.wakes {
			t.Errorf("%s: it wakes the maintainer: %v", c.name, wakes)
		}
	}
	reader.endRead()
	reader.Release()
	owner.Release()
}
