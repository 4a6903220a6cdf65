// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// clusterReferenceDecode returns a page of a cluster by its number. It is written from the
// document, as the reference for single pages is.
func clusterReferenceDecode(object []byte, index int) ([]byte, error) {
	if len(object) < 6 {
		return nil, errBroken
	}
	var all denseStreams
	left := object[6:]
	for i := range 4 {
		at := 3 * (i / 2)
		lengths := int(object[at]) + 256*int(object[at+1]) + 65536*int(object[at+2])
		n := []int{lengths % 4096, lengths / 4096}[i%2]
		if n > len(left) {
			return nil, errBroken
		}
		part := left[:n]
		left = left[n:]
		if i > index {
			continue
		}
		streams, err := denseReferenceStreams(part)
		if err != nil {
			return nil, err
		}
		if len(streams[2])+2*len(streams[3]) > 4096 {
			return nil, errBroken
		}
		for j := range all {
			all[j] = append(all[j], streams[j]...)
		}
	}
	if len(left) > 0 {
		return nil, errBroken
	}
	text, err := all.text((index + 1) * 4096)
	if err != nil {
		return nil, err
	}
	return text[index*4096:], nil
}

// A clusterPair is an encoder and a decoder of one implementation.
type clusterPair struct {
	set impl.Set
	enc *ClusterEncoder
	dec *ClusterDecoder
}

func newClusterPair(tb testing.TB, set impl.Set) clusterPair {
	tb.Helper()
	enc, err := NewClusterEncoder(set)
	if err != nil {
		tb.Fatal(err)
	}
	dec, err := NewClusterDecoder(set)
	if err != nil {
		tb.Fatal(err)
	}
	return clusterPair{set, enc, dec}
}

// eachClusterPair runs f as a subtest for each implementation that this machine can run.
func eachClusterPair(t *testing.T, f func(t *testing.T, p clusterPair)) {
	t.Helper()
	codectest.EachEntry(t, denseTable, func(t *testing.T, e impl.Entry[denseRoutines]) { f(t, newClusterPair(t, e.Set)) })
}

// object returns the object of a cluster, or nil if it has none.
func (p clusterPair) object(tb testing.TB, pages [ClusterPages][]byte) []byte {
	tb.Helper()
	dst := make([]byte, MaxClusterObject)
	n, err := p.enc.CompressCluster(dst, pages)
	if err != nil {
		tb.Fatal(err)
	}
	if n == 0 {
		return nil
	}
	return dst[:n:n]
}

// clusterAt returns four pages of base from a number on.
func clusterAt(base [][]byte, at int) (pages [ClusterPages][]byte) {
	for i := range pages {
		pages[i] = base[(at+i)%len(base)]
	}
	return pages
}

// clusterObjects returns objects of generated pages.
func clusterObjects(tb testing.TB, count int) (all [][]byte) {
	tb.Helper()
	p := newClusterPair(tb, impl.Generic)
	base := codectest.Generated()
	for at := 0; at < len(base) && len(all) < count; at++ {
		if object := p.object(tb, clusterAt(base, at)); object != nil {
			all = append(all, object)
		}
	}
	if len(all) < count {
		tb.Fatalf("there are %d objects, not %d", len(all), count)
	}
	return all
}

// madeClusterObject returns an object of four made ones, which our encoder seldom makes, sometimes
// with a wrong length. The distances that one of them leaves remembered reach, in the next one,
// before its page.
func madeClusterObject(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 6))
	object := make([]byte, 6)
	for i := range 4 {
		part := madeDenseObject(seed*4 + uint64(i))
		for try := uint64(1); len(part) > 4095; try++ {
			part = madeDenseObject(seed*4 + try<<32)
		}
		object = append(object, part...)
		n := len(part)
		if rng.IntN(100) == 0 {
			n ^= 1 << rng.IntN(12)
		}
		counts := n << (12 * (i % 2))
		for j := range 3 {
			object[3*(i/2)+j] |= byte(counts >> (8 * j))
		}
	}
	return object
}

// clusterDecoders makes a judge of what all decoders say. The function that it returns fails the
// test unless they say of each page of an object what the reference does, and reports which of its
// pages are valid.
func clusterDecoders(t *testing.T) (judge func(object []byte) (valid [ClusterPages]bool)) {
	t.Helper()
	all := map[impl.Set]*ClusterDecoder{}
	for _, e := range denseTable {
		if impl.Has(e.Set) {
			all[e.Set] = newClusterPair(t, e.Set).dec
		}
	}
	got := make([]byte, Size)
	return func(object []byte) (valid [ClusterPages]bool) {
		t.Helper()
		for index := range valid {
			want, broken := clusterReferenceDecode(object, index)
			valid[index] = broken == nil
			for set, dec := range all {
				err := dec.DecompressCluster(got, index, object)
				if (err != nil) != (broken != nil) {
					t.Fatalf("%s, page %d: %v, the reference: %v: object %x", set, index, err, broken, object)
				}
				if err != nil && !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s: refused by another error: %v", set, err)
				}
				if err == nil && !bytes.Equal(got, want) {
					t.Fatalf("%s, page %d: another page than the reference's: object %x", set, index, object)
				}
			}
		}
		return valid
	}
}
