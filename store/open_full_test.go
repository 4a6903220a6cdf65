// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// A process may die where each segment that there can be has objects, as on a machine that got more
// memory since the image was made. The next one serves what is stored all the same.
func TestOpenWithoutAFreeSegment(t *testing.T) {
	mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 64 << 20, MaxMemory: 4 << 20})
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	stored := uint64(0)
	for ; tryWrite(s, stored, 1) == nil; stored++ {
		if stored == s.Pages()-1 {
			t.Fatal("the device is not full")
		}
	}
	s.passMu.Lock() // the compactor gets the last segment, and dies once it has moved an object
	for s.reserve() > 0 {
		s.compactor().seal()
		if err := s.relocate(0, s.idx.load(0)); err != nil {
			t.Fatal(err)
		}
	}
	s.passMu.Unlock()
	s.die()
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	defer finish(t, s)
	for page := range stored {
		if !bytes.Equal(read(t, s, page), content{uint32(page), 1, random}.bytes()) {
			t.Fatalf("page %d is not what it was", page)
		}
	}
	discard(s, 0, 2*image.RawPerSegment)
	eventually(t, "a page is written", func() bool { return tryWrite(s, 0, 2) == nil })
}
