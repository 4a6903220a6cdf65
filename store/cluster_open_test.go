// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// The length in the entry of a page that shares its object flips, and the image is opened again:
// the space of the others' object counts as what it is. Counted by the damaged entry, too little
// would be left for a page next to it once they give it up, and that page would go with its
// segment.
func TestDamagedEntryOfAClusterIsCountedApart(t *testing.T) {
	mem, cfg := newMemory(t), Config{Disksize: 4 << 20, Workers: 4, Algorithm: algorithm(t, "page")}
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	const other = 100
	for page := range uint64(image.ClusterPages) {
		write(t, s, page, texts(1)[0])
	}
	join(t, s)
	e := s.idx.load(0)
	bit := bits.Len(uint(e.Length()/image.Unit-1)) - 1
	if pages, _ := inClusters(s); pages != image.ClusterPages || bit < 5 {
		t.Fatalf("%d pages share an object of %d bytes", pages, e.Length())
	}
	flipEntry(s, 0, image.WhereBits+bit)
	missing := image.Footprint(e.Length()) - image.Footprint(s.idx.load(0).Length())
	data, w := neighbour(t, s, other, missing), s.Acquire()
	defer w.Release()
	if n := s.idx.load(other); n.Segment() != e.Segment() || missing != image.Footprint(n.Length()) {
		t.Fatalf("page %d has %d bytes in segment %d, wanted are %d in %d", other, image.Footprint(n.Length()), n.Segment(), missing, e.Segment())
	}
	s.die()
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	defer s.die() // the damage is counted, so Check would complain
	w = s.Acquire()
	w.Discard(0, image.ClusterPages)
	w.Release()
	s.CompactNow(nil)
	if got := read(t, s, other); !bytes.Equal(got, data) {
		t.Errorf("page %d is not what was written", other)
	}
}

// neighbour writes a page next to what a Clusterer has made last, whose object takes n bytes of its
// segment.
func neighbour(t *testing.T, s *Store, page uint64, n int) []byte {
	t.Helper()
	c, err := s.Algorithm().NewCompressor()
	if err != nil {
		t.Fatal(err)
	}
	data, packed := make([]byte, PageSize), make([]byte, PageSize)
	for size := range PageSize {
		copy(data, noise(rand.New(rand.NewPCG(1, 2)), size))
		if _, length, err := c.Compress(packed, data); err != nil || image.Footprint(length) == n {
			break
		}
	}
	w := s.acquireLast()
	defer w.Release()
	if err := w.Write(page, 0, data); err != nil {
		t.Fatal(err)
	}
	return data
}
