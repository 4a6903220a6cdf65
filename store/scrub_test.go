// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"sync"
	"testing"
)

// scrub returns what Scrub finds and the damaged pages.
func scrub(t *testing.T, s *Store) (did Scrubbed, damaged []uint64) {
	t.Helper()
	did, err := s.Scrub(t.Context(), func(page uint64) { damaged = append(damaged, page) }, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return did, damaged
}

// Damage is found where it is, and looking for it counts as no read.
func TestScrubFindsDamage(t *testing.T) {
	s, data := filled(t, Config{Disksize: 16 << 20})
	if did, damaged := scrub(t, s); did != (Scrubbed{Pages: uint64(len(data))}) || len(damaged) > 0 {
		t.Errorf("%+v, damaged are %v", did, damaged)
	}
	before := s.Stats()
	payload := func(page uint64) []byte {
		e := s.idx.load(page)
		return s.image.Payload(e.Where(), e.Length())
	}
	payload(700)[3] ^= 1
	s.image.HeaderAt(s.idx.load(1500).Where()).Page++
	entry := s.idx.entries[2000].Swap(1 << 63)
	want := []uint64{700, 1500, 2000}
	did, damaged := scrub(t, s)
	if did.Damaged != 3 || did.Pages != uint64(len(data)) || !slices.Equal(damaged, want) {
		t.Errorf("%+v, damaged are %v, want %v", did, damaged, want)
	}
	if after := s.Stats(); after.Reads != before.Reads || after.ChecksumErrors != before.ChecksumErrors {
		t.Errorf("scrubbing counts as reading: %+v, before %+v", after, before)
	}
	payload(700)[3] ^= 1
	if _, damaged := scrub(t, s); !slices.Equal(damaged, want[1:]) {
		t.Errorf("one is mended, and damaged are %v", damaged)
	}
	s.image.HeaderAt(s.idx.load(1500).Where()).Page--
	s.idx.entries[2000].Store(entry)
}

// Pages that requests write and discard during a scrub are not damaged.
func TestScrubBesideRequests(t *testing.T) {
	s, data := filled(t, Config{Disksize: 4 << 20})
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for i := range 2 {
		busy.Go(func() {
			for n := uint64(i); ; n += 7 {
				select {
				case <-stop:
					return
				default:
				}
				page := n % s.Pages()
				w := s.Acquire()
				if n%5 == 0 {
					w.Discard(page, 1)
				} else if err := w.Write(page, 0, data[page]); err != nil {
					t.Error(err)
				}
				w.Release()
			}
		})
	}
	for range 30 {
		if did, damaged := scrub(t, s); did.Damaged > 0 {
			t.Fatalf("%+v: %v", did, damaged)
		}
	}
	close(stop)
	busy.Wait()
}
