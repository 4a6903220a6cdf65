// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// tableRoutines returns a pair's routines where the table has them. Memory that is not the
// collector's must not point to a copy: nothing else would keep that.
func tableRoutines(t *testing.T, p clusterPair) *denseRoutines {
	t.Helper()
	for i := range denseTable {
		if denseTable[i].Set == p.set {
			return &denseTable[i].F
		}
	}
	t.Fatalf("there are no routines for %s", p.set)
	return nil
}

// Pages, object and what encoder and decoder work in lie against inaccessible pages on both sides,
// so that a read or write one byte outside ends the test.
func TestF014ClustersBetweenGuardPages(t *testing.T) {
	pageEnd, pageStart := codectest.Guarded(t, Size)
	backEnd, backStart := codectest.Guarded(t, Size)
	memoryEnd, memoryStart := codectest.Guarded(t, 10*Size)
	encEnd, encStart := codectest.Guarded(t, int(unsafe.Sizeof(ClusterEncoder{})))
	decEnd, decStart := codectest.Guarded(t, int(unsafe.Sizeof(ClusterDecoder{})))
	base, rng := codectest.Generated(), newRand(24)
	eachClusterPair(t, func(t *testing.T, p clusterPair) {
		for i := range 100 / codectest.Stride() {
			group := clusterAt(base, i)
			want := p.object(t, group)
			if want == nil {
				continue
			}
			end := i%2 == 0
			room := clusterPair{p.set, (*ClusterEncoder)(unsafe.Pointer(&encStart[0])), (*ClusterDecoder)(unsafe.Pointer(&decStart[0]))}
			page, back, object := pageStart, backStart, memoryStart[:len(want)]
			if end {
				room = clusterPair{p.set, (*ClusterEncoder)(unsafe.Pointer(&encEnd[0])), (*ClusterDecoder)(unsafe.Pointer(&decEnd[0]))}
				page, back, object = pageEnd, backEnd, memoryEnd[len(memoryEnd)-len(want):]
			}
			room.dec.routines = tableRoutines(t, p)
			copy(page, group[i%ClusterPages])
			group[i%ClusterPages] = page
			if n, err := room.enc.CompressCluster(object, group); err != nil || !bytes.Equal(object[:n], want) {
				t.Fatalf("cluster %d: %d bytes, not %d, or others: %v", i, n, len(want), err)
			}
			if n, err := room.enc.CompressCluster(object[:len(want)-1], group); n != 0 || err != nil {
				t.Fatalf("cluster %d: %d bytes where it does not fit: %v", i, n, err)
			}
			copy(object, want)
			for index := range group {
				if err := room.dec.DecompressCluster(back, index, object); err != nil || !bytes.Equal(back, group[index]) {
					t.Fatalf("page %d of cluster %d came back different: %v", index, i, err)
				}
			}
			for range 40 {
				at := rng.IntN(len(want))
				object[at] ^= 1 << rng.IntN(8)
				_ = room.dec.DecompressCluster(back, rng.IntN(ClusterPages), object) // what it says is not the point here
				object[at] = want[at]
			}
		}
	})
}

// Made objects, whole and cut.
func TestF014MadeClustersBetweenGuardPages(t *testing.T) {
	memoryEnd, memoryStart := codectest.Guarded(t, 10*Size)
	backEnd, backStart := codectest.Guarded(t, Size)
	decEnd, decStart := codectest.Guarded(t, int(unsafe.Sizeof(ClusterDecoder{})))
	rng := newRand(25)
	eachClusterPair(t, func(t *testing.T, p clusterPair) {
		for i := range 300 {
			object := madeClusterObject(uint64(i))
			if rng.IntN(4) == 0 {
				object = object[:rng.IntN(len(object))]
			}
			src, back, dec := memoryEnd[len(memoryEnd)-len(object):], backEnd, (*ClusterDecoder)(unsafe.Pointer(&decEnd[0]))
			if i%2 == 0 {
				src, back, dec = memoryStart[:len(object)], backStart, (*ClusterDecoder)(unsafe.Pointer(&decStart[0]))
			}
			dec.routines = tableRoutines(t, p)
			copy(src, object)
			for index := range ClusterPages {
				_ = dec.DecompressCluster(back, index, src) // what it says is not the point here
			}
		}
	})
}
