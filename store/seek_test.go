// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// Stored pages and holes are found on both sides of each boundary, in an index that exists whole
// and in a partial one.
func TestSeek(t *testing.T) {
	for _, disksize := range []uint64{64 << 20, populateUpTo + 1<<30} {
		s := newStore(t, Config{Disksize: disksize, MaxMemory: 1 << 28})
		last := s.Pages() - 1
		stored := map[uint64]bool{}
		for _, page := range []uint64{0, 1, 5, 511, 512, 700, 1024, 4 * image.EntriesPerPage * piecePages, last} {
			if page = min(page, last); !stored[page] {
				stored[page] = true
				write(t, s, page, content{uint32(page), 1, random}.bytes())
			}
		}
		for from := range stored {
			for _, page := range []uint64{from - min(from, 1), from, min(from+1, s.Pages())} {
				wantStored, wantEmpty := s.Pages(), page
				for p := range stored {
					if p >= page {
						wantStored = min(wantStored, p)
					}
				}
				for stored[wantEmpty] {
					wantEmpty++
				}
				if got := s.NextStored(page); got != wantStored {
					t.Errorf("%d GiB, from page %d: page %d is stored, want %d", disksize>>30, page, got, wantStored)
				}
				if got := s.NextEmpty(page); got != wantEmpty {
					t.Errorf("%d GiB, from page %d: page %d is empty, want %d", disksize>>30, page, got, wantEmpty)
				}
			}
		}
	}
}

// However much there is, a search ends after a bounded piece of the index, and calls nothing empty
// that is stored.
func TestSeekIsBounded(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's build has all of the index on the heap")
	}
	s := mustCreate(t, Config{Disksize: 256 << 30, MaxMemory: 1 << 28})
	defer s.die()
	const pieces = seekPages/piecePages + 2
	s.passMu.Lock()
	ok := s.idx.take(0, pieces*piecePages, false)
	s.passMu.Unlock()
	if !ok {
		t.Fatal("no memory for the index")
	}
	const covered = pieces * piecePages * image.EntriesPerPage
	if page := s.NextStored(0); page <= covered/2 || page >= covered {
		t.Errorf("of %d empty pages it looked at %d", covered, page)
	}
	for page := range uint64(covered) {
		s.idx.entries[page].Store(uint64(image.SameEntry(image.SameSmall, page)))
	}
	s.idx.entries[covered-1].Store(0) // is passed over
	if page := s.NextEmpty(0); page != covered {
		t.Errorf("%d is the first empty page, want %d, from where there is no index", page, covered)
	}
}

func BenchmarkSeek(b *testing.B) {
	s := newStore(b, Config{Disksize: populateUpTo})
	for b.Loop() {
		if s.NextStored(0) != s.Pages() {
			b.Fatal("found what is not there")
		}
	}
}
