// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// A process dies where the memory limit leaves one segment without objects, which is the
// compactor's, and nothing is to be gained by compaction. The next one moves pages to the backing
// device all the same: its stubs have room beyond the limit, until there is some below it.
func TestStubsHaveRoomAfterADeath(t *testing.T) {
	const pages = 16 << 10
	mem, cfg := newMemory(t), Config{Disksize: pages * PageSize, MemLimit: 3 << 20, Algorithm: algorithm(t, "raw"), Backing: newBacking(t, pages)}
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	stored := uint64(0)
	fill := func() {
		for ; tryWrite(s, stored, 1) == nil; stored++ {
			if stored == pages-1 {
				t.Fatal("the device is not full")
			}
		}
	}
	fill()
	mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{End: image.RawPerSegment}}})
	fill()
	s.die()
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	defer finish(t, s)
	waitUntil(t, func() bool { return s.unswept.Load() == 0 })
	did := mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{End: stored / 2}}})
	if did.Pages < stored/2-image.RawPerSegment {
		t.Errorf("%d of %d pages were moved", did.Pages, stored)
	}
	eventually(t, "the use falls below the limit", func() bool { return s.used() <= int64(cfg.MemLimit) })
	if most := int64(cfg.MemLimit) + image.SegmentSize; s.peak.Load() > most {
		t.Errorf("the use was %d bytes, %d are the most", s.peak.Load(), most)
	}
	before := stored
	fill()
	if stored < before+before/5 {
		t.Errorf("with half of its pages away a store of %d takes %d", before, stored-before)
	}
	for page := range stored {
		if !bytes.Equal(read(t, s, page), content{uint32(page), 1, random}.bytes()) {
			t.Fatalf("page %d is not what it was", page)
		}
	}
}
