// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// fullOfText is a store of pages of text by lz4 that writes have filled up to its memory limit.
func fullOfText(t *testing.T, limit uint64, inOrder bool) (s *Store, data [][]byte) {
	t.Helper()
	if testing.Short() {
		limit = 8 << 20
	}
	s = newStore(t, Config{Disksize: 3 * limit, Algorithm: algorithm(t, "lz4"), MemLimit: limit})
	newCalendar(s)
	data = make([][]byte, s.Pages())
	order := rand.New(rand.NewPCG(5, 6)).Perm(len(data))
	for i, page := range order {
		if inOrder {
			page = i
		}
		data[page] = text(page)
		err := writeOrFail(s, uint64(page), data[page])
		if errors.Is(err, ErrFull) {
			data[page] = make([]byte, PageSize)
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for page := range data {
		if data[page] == nil {
			data[page] = make([]byte, PageSize)
		}
	}
	return s, data
}

// withinLimit fails the test if a store has taken more than its memory limit at some time.
func withinLimit(t *testing.T, s *Store) {
	t.Helper()
	if st := s.Stats(); st.MemUsedMax > st.MemLimit {
		t.Errorf("%d bytes were taken of %d allowed", st.MemUsedMax, st.MemLimit)
	}
}

// text is a page that lz4 makes a third of, and its entropy coders half as much.
func text(page int) (data []byte) {
	for line := page; len(data) < PageSize; line = (line*1103515245 + 12345) & 0xFFFFFF {
		data = fmt.Appendf(data, "line %d of page %d says %x\n", line%1000, page, line%65536)
	}
	return data[:PageSize]
}

// Where writes have filled a store up to its limit, packing makes room, beyond no limit, whatever
// the order of the pages, and also where the limit was lowered since.
func TestPackingOfAFullStore(t *testing.T) {
	for name, c := range map[string]struct {
		limit            uint64
		inOrder, lowered bool
	}{
		"in order": {16 << 20, true, false}, "lowered, in order": {16 << 20, true, true},
		"out of order": {32 << 20, false, false}, "lowered, out of order": {16 << 20, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, data := fullOfText(t, c.limit, c.inOrder)
			before := s.Stats()
			if c.lowered {
				s.SetMemLimit(before.MemLimit - 1<<20)
			}
			if !c.inOrder { // joining neighbours that lie apart would take the segment that this needs
				if err := joinSome(s, 100); err != nil {
					t.Fatal(err)
				}
			}
			did, err := s.Recompress(context.Background(), RecompressConfig{Algorithm: algorithm(t, "zstd")})
			if err != nil {
				t.Fatal(err)
			}
			if all := before.Codecs[codec.LZ4].Pages; did.Pages < all*3/4 { // those that lie in open segments are left out
				t.Errorf("%d pages were packed of %d", did.Pages, all)
			}
			eventually(t, "the memory comes back", func() bool { return s.Stats().MemUsedTotal < before.MemUsedTotal*7/8 })
			if !c.lowered {
				withinLimit(t, s)
			}
			unchanged(t, s, data)
			for page := range s.Pages() / 20 {
				data[page] = text(int(page) + 1e6)
				write(t, s, page, data[page])
			}
			unchanged(t, s, data)
			holds(t, s)
		})
	}
}

// Neighbours that were written together are joined where a store is full.
func TestJoiningInAFullStore(t *testing.T) {
	s, data := fullOfText(t, 16<<20, true)
	if err := joinSome(s, 200); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats().Codecs[codec.PageDenseCluster].Pages; n < 1000 {
		t.Errorf("%d pages were joined", n)
	}
	for page := range uint64(100) { // which were joined, so that the rest keeps their memory for now
		data[page] = text(int(page) + 1e6)
		eventually(t, "a write finds room", func() bool { return writeOrFail(s, page, data[page]) == nil })
	}
	withinLimit(t, s)
	unchanged(t, s, data)
	holds(t, s)
}

// Writes take what packing makes, and leave it what it needs: in the end all is packed.
func TestPackingNextToWritesAtTheLimit(t *testing.T) {
	s, data := fullOfText(t, 16<<20, false)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() { // new pages of noise, as many as find room
		for page := uint64(0); page < s.Pages(); {
			select {
			case <-stop:
				return
			default:
			}
			if data[page][0] != 0 {
				page++
				continue
			}
			noise := content{uint32(page), 1, random}.bytes()
			if err := writeOrFail(s, page, noise); err == nil {
				data[page] = noise
				page++
			} else if !errors.Is(err, ErrFull) {
				t.Errorf("page %d: %v", page, err)
				return
			}
		}
	})
	left := func() uint64 { return s.Stats().Codecs[codec.LZ4].Pages }
	for try := 0; left() > 600 && try < 1000; try++ { // a segment that a worker has open is left out
		_, err := s.Recompress(context.Background(), RecompressConfig{Algorithm: algorithm(t, "zstd")})
		if err != nil && !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
	}
	close(stop)
	writer.Wait()
	if n := left(); n > 600 {
		t.Errorf("%d pages are not packed", n)
	}
	withinLimit(t, s)
	unchanged(t, s, data)
	holds(t, s)
}

// A run by segment ends where it is told to, and passes over what is no full segment.
func TestBySegmentEnds(t *testing.T) {
	s, _ := fullOfText(t, 16<<20, true)
	r, err := s.NewRecompressor(RecompressConfig{Algorithm: algorithm(t, "zstd"), MaxPages: 500})
	if err != nil {
		t.Fatal(err)
	}
	if did, err := r.Run(context.Background(), 0); err != nil || did.Tried != 500 {
		t.Errorf("%+v, %v; want 500 tried", did, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, err = s.NewRecompressor(RecompressConfig{Algorithm: algorithm(t, "zstd"), Rest: func(did Recompressed) {
		if did.Tried > 200 {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if did, err := r.Run(ctx, 0); !errors.Is(err, context.Canceled) || did.Tried <= 200 {
		t.Errorf("%+v, %v; want it cancelled", did, err)
	}
	defer s.unmaintained()()
	all := func(uint64, image.Entry) bool { return true }
	for n := range s.everUsed() {
		pages := s.pagesOf(n, make([]candidate, 0, 3), all)
		if want := map[bool]int{true: 3}[s.segment(n).state() == segSealed]; len(pages) != want {
			t.Errorf("%d pages of segment %d in state %d", len(pages), n, s.segment(n).state())
		}
	}
}

// Packing by segment may take one ready segment more than writes, and the last one while the
// compactor has room; index pages leave as many as writes do.
func TestReadyForPacking(t *testing.T) {
	s, _ := fullOfText(t, 8<<20, true)
	defer s.unmaintained()()
	s.SetMemLimit(0)
	w, c := s.acquireLast(), s.compactor()
	defer w.Release()
	c.seal()
	for _, now := range []struct {
		name             string
		ready            int
		room             bool // the compactor has
		write, pack, old bool // may take one; old: as an index page
	}{
		{"three", 3, false, true, true, true}, {"two", 2, false, false, true, false}, {"one", 1, false, false, false, false},
		{"one, and the compactor has room", 1, true, false, true, false}, {"none", 0, true, false, false, false},
	} {
		for s.reserve() > now.ready {
			s.giveUpReady(t)
		}
		for s.reserve() < now.ready {
			if err := s.grow(); err != nil {
				t.Fatal(err)
			}
		}
		c.open = map[bool]openSegment{true: {0, image.SegmentSize / 2}, false: {0, image.SegmentSize/2 - image.Unit}}[now.room]
		for gathers, want := range map[bool]bool{false: now.write, true: now.pack} {
			w.gathers = gathers
			n, ok := w.tryTake()
			if ok {
				s.makeReady(n, segOpen)
			}
			if ok != want {
				t.Errorf("%s ready: taken %v, to pack %v", now.name, ok, gathers)
			}
		}
		c.open = openSegment{}
		if ok := s.cedeSegment(0); ok != now.old {
			t.Errorf("%s ready: ceded %v", now.name, ok)
		}
	}
}

// Pages are joined by the segment that most of them lie in.
func TestMostlyInASegment(t *testing.T) {
	for _, inOrder := range []bool{true, false} {
		s, _ := fullOfText(t, 8<<20, inOrder)
		c := s.NewClusterer(algorithm(t, "page:dense"), func(Recompressed) {})
		found := 0
		for first := uint64(0); first < 800; first += image.ClusterPages {
			in := 0
			for n := range s.everUsed() {
				if c.mostlyIn(n, first) {
					in++
				}
			}
			if in > 1 {
				t.Errorf("%d segments have most of the pages from %d on", in, first)
			}
			found += in
		}
		if inOrder != (found > 90) || !inOrder != (found < 10) {
			t.Errorf("pages in order %v: %d of 100 groups lie mostly in a segment", inOrder, found)
		}
	}
}
