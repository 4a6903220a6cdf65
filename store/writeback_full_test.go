// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math/rand/v2"
	"testing"
)

// Pages of a full store that are written back here and there make room: the compactor keeps the
// segment that it needs to gather what they leave.
func TestWriteBackOfAFullStore(t *testing.T) {
	s := newStore(t, Config{Disksize: 4 << 30, MemLimit: 20 << 20, Backing: newBacking(t, 1<<16)})
	rng, p := rand.New(rand.NewPCG(1, 1)), make([]byte, PageSize)
	try := func(page uint64) error {
		for i := range 1000 {
			p[i] = byte(rng.Uint32())
		}
		w := s.Acquire()
		defer w.Release()
		return w.Write(page, 0, p)
	}
	end, pages := uint64(0), []Selection{}
	for ; try(end) == nil; end++ {
		if end%17 == 0 {
			pages = append(pages, Selection{First: end, End: end + 1})
		}
	}
	dry := 0
	did, err := s.WriteBack(WritebackConfig{Pages: pages, Grant: func(n int) (int, error) {
		s.passMu.Lock()
		defer s.passMu.Unlock()
		if s.reserve() == 0 {
			dry++
		}
		return n, nil
	}})
	if dry > 0 {
		t.Errorf("the compactor was left without a segment %d times", dry)
	}
	if err != nil || did.Pages < uint64(len(pages)) {
		t.Errorf("%+v of %d, %v", did, len(pages), err)
	}
	for n := range did.Pages / 2 {
		if err := try(end + n); err != nil {
			t.Fatalf("%d pages were written back, then %d were written: %v", did.Pages, n, err)
		}
	}
	holds(t, s)
}

// An object that takes no more memory than a stub stays.
func TestSmallObjectsAreNotWrittenBack(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20, Backing: newBacking(t, 1000)})
	p := make([]byte, PageSize)
	for page := range uint64(500) {
		p[page], p[page+600] = 1, 2
		write(t, s, page, p)
		clear(p)
	}
	before := s.footprint()
	if did := mustWriteBack(t, s, everything); did.Pages != 0 || s.footprint() != before {
		t.Errorf("%+v: objects took %d bytes, and then %d", did, before, s.footprint())
	}
}
