// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// damages are ways in which a flipped bit makes the store lose track of a page's object.
var damages = map[string]func(s *Store, page uint64){
	"codec of the entry":   func(s *Store, page uint64) { flipEntry(s, page, image.ValueBits+4) },
	"place in the entry":   func(s *Store, page uint64) { flipEntry(s, page, 3) },
	"segment in the entry": func(s *Store, page uint64) { flipEntry(s, page, 15+3) },
	"length in the entry":  func(s *Store, page uint64) { flipEntry(s, page, image.WhereBits+11) },
	"page in the header":   func(s *Store, page uint64) { s.image.HeaderAt(s.idx.load(page).Where()).Page ^= 1 << 9 },
	"length in the header": func(s *Store, page uint64) { s.image.HeaderAt(s.idx.load(page).Where()).Length ^= 1 << 7 },
}

func flipEntry(s *Store, page uint64, bit int) {
	s.idx.entries[page].Store(s.idx.entries[page].Load() ^ 1<<bit)
}

// Objects that damage has hidden cost their space once: compaction passes over their segments
// while it can gain more in others, and takes them back by a recount.
func TestDamagedObjectsAreReclaimed(t *testing.T) {
	if raceEnabled {
		t.Skip("TestRecountBesideWriters does the same with more goroutines")
	}
	const live, every = 4096, 2 * image.RawPerSegment // 16 MiB; every other segment is damaged
	for name, damage := range damages {
		for _, rewrite := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, rewritten %v", name, rewrite), func(t *testing.T) {
				s := mustCreate(t, Config{Disksize: 64 << 20, MemLimit: 32 << 20, Algorithm: algorithm(t, "raw")})
				version := map[uint64]uint32{}
				store := func(page uint64, v uint32) {
					write(t, s, page, content{uint32(page), v, random}.bytes())
					version[page] = v
				}
				for page := range uint64(live) {
					store(page, 1)
				}
				lost := map[uint64]bool{}
				for page := uint64(5); page < live; page += every {
					damage(s, page)
					if lost[page] = true; rewrite {
						store(page, 2)
						delete(lost, page)
					}
				}
				rng := rand.New(rand.NewPCG(1, 2))
				for v := range uint32(10 * live) {
					if page := rng.Uint64N(live); !lost[page] {
						store(page, v)
					}
				}
				for page, v := range version {
					w, p := s.Acquire(), make([]byte, PageSize)
					err := w.Read(page, 0, p)
					w.Release()
					if lost[page] && !errors.Is(err, ErrCorrupt) {
						t.Fatalf("damaged page %d: %v, want ErrCorrupt", page, err)
					} else if !lost[page] && (err != nil || !bytes.Equal(p, content{uint32(page), v, random}.bytes())) {
						t.Fatalf("page %d is wrong: %v", page, err)
					}
				}
				// With writes at rest little garbage is left, without the reserve and open
				// segments.
				most := int64(live*image.MaxFootprint)*102/100 + int64(s.target()+len(s.workers)+2)*image.SegmentSize
				waitUntil(t, func() bool { return s.backedBytes() <= most })
				if s.Stats().RecountedSegments == 0 {
					t.Error("no segment was recounted")
				}
				s.die() // the counters of damaged pages are off, so Check would complain
			})
		}
	}
}

// Recounts go on among writers, readers and more damage.
func TestRecountBesideWriters(t *testing.T) {
	const pages, writers = 1024, 4
	s := mustCreate(t, Config{Disksize: 16 << 20, MemLimit: limitOf(16<<20, 40), Algorithm: algorithm(t, "raw")})
	defer s.die()
	s.patience = time.Minute // with the race detector on a busy machine, a pass can take a second
	var done sync.WaitGroup
	for id := range uint64(writers) {
		done.Go(func() {
			if err := writeAndDamage(s, id, writers, pages, opsFor(t)); err != nil {
				t.Errorf("writer %d: %v", id, err)
			}
		})
	}
	done.Wait()
	if st := s.Stats(); st.RecountedSegments == 0 {
		t.Error("no segment was recounted")
	}
}

// writeAndDamage writes pages of its own, and damages one in 64 before it writes it again.
func writeAndDamage(s *Store, id, of, pages uint64, ops int) error {
	rng := rand.New(rand.NewPCG(id, 5))
	version := map[uint64]uint32{}
	p := make([]byte, PageSize)
	for op := range uint32(ops) {
		page := rng.Uint64N(pages/of)*of + id
		w := s.Acquire()
		err := w.Read(page, 0, p)
		if v, ok := version[page]; err == nil && ok && !bytes.Equal(p, content{uint32(page), v, random}.bytes()) {
			err = errors.New("reads back as something else")
		}
		if err == nil && rng.IntN(64) == 0 {
			l := s.lock(page)
			l.Lock()
			flipEntry(s, page, image.ValueBits+4)
			l.Unlock()
		}
		if err == nil {
			err = w.Write(page, 0, content{uint32(page), op, random}.bytes())
			version[page] = op
		}
		w.Release()
		if err != nil {
			return fmt.Errorf("operation %d, page %d: %w", op, page, err)
		}
	}
	return nil
}

// A recount takes several passes on a large device, moves what a segment holds, and leaves a
// segment to the next one where a request is at a page or holds what it has retired.
func TestRecountByPieces(t *testing.T) {
	s := newStore(t, Config{Disksize: populateUpTo + 1<<30, MaxMemory: 1 << 28, Algorithm: algorithm(t, "raw")})
	want := map[uint64][]byte{}
	for page := uint64(0); page < s.Pages(); page += s.Pages() / 50 {
		want[page] = content{uint32(page), 1, random}.bytes()
		write(t, s, page, want[page])
	}
	defer s.unmaintained()()
	s.settleIdle(true)
	n := s.idx.load(0).Segment()
	seg := s.segment(n)
	if !seg.turn(segSealed, segStuck) {
		t.Fatalf("the segment is in state %d", seg.state())
	}
	pieces := 0
	recount := func() (freed int) {
		s.recount.after = time.Time{}
		for more := true; more; pieces++ {
			if pieces > 1<<12 {
				t.Fatal("it does not end")
			}
			freed, more = s.recountSome(recountSlice, 0)
		}
		return freed
	}
	l := s.lock(0)
	l.Lock()
	if freed := recount(); freed != 0 || seg.state() != segStuck || pieces < 3 {
		t.Errorf("with a busy page %d segments are freed after %d pieces, and this one is in state %d", freed, pieces, seg.state())
	}
	l.Unlock()
	if freed, more := s.recountSome(recountSlice, 0); freed != 0 || more {
		t.Error("another begins at once")
	}
	s.recount.after = time.Time{}
	busy := s.Acquire() // it may have retired something
	for range s.image.IndexPages/recountSlice + 2 {
		if freed, more := s.recountSome(recountSlice, 0); freed != 0 || !more || !s.recountEnds() {
			t.Fatalf("with a busy worker %d segments are freed, more: %v", freed, more)
		}
	}
	busy.Release()
	if freed := recount(); seg.live() != 0 || s.idx.load(0).Segment() == n || s.recountEnds() {
		t.Errorf("%d segments are freed, %d bytes are left", freed, seg.live())
	}
	for page, p := range want {
		if !bytes.Equal(read(t, s, page), p) {
			t.Errorf("page %d is not what it was", page)
		}
	}
}
