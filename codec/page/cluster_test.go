// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"errors"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/internal/pages"
)

// F001 for clusters with and without absent pages, every page read alone. Two decoders take
// turns, and there may be zeros behind an object.
func TestF001ClusterLossless(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		t.Parallel()
		generic := newClusterPair(t, impl.Generic)
		eachClusterPair(t, func(t *testing.T, p clusterPair) {
			back, derived, kept := make([]byte, Size), clusterAt(base, 0), 0
			for i := range derived {
				derived[i] = make([]byte, Size)
			}
			for i := range codectest.Rounds() / (ClusterPages * 20) {
				group := clusterAt(base, i*ClusterPages)
				if i%4 == 2 {
					group = without(group, i)
				} else if i%2 == 1 {
					for j := range derived {
						codectest.Derive(derived[j], base, i*ClusterPages+j)
					}
					group = derived
				}
				object := p.object(t, group)
				if object == nil {
					continue
				}
				kept++
				object = append(object, make([]byte, i%(maxPadding+1))...)
				dec := []*ClusterDecoder{p.dec, generic.dec}[i/2%2]
				for turn := range group {
					index := (i + turn*3) % ClusterPages
					err := dec.DecompressCluster(back, index, object)
					if group[index] == nil && !errors.Is(err, ErrCorrupt) {
						t.Fatalf("page %d of cluster %d, which is absent: %v", index, i, err)
					}
					if group[index] != nil && (err != nil || !bytes.Equal(back, group[index])) {
						t.Fatalf("page %d of cluster %d came back different, or %v", index, i, err)
					}
				}
			}
			if kept == 0 {
				t.Error("no cluster was compressed")
			}
		})
	})
}

// The reference reads the objects of our encoder, and so does one decoder after another.
func TestClustersAreReadByTheReference(t *testing.T) {
	judge := clusterDecoders(t)
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		p := newClusterPair(t, "")
		for at := 0; at < len(base); at += 80 * codectest.Stride() {
			group := clusterAt(base, at)
			if at%160 > 0 {
				group = without(group, at)
			}
			if object := p.object(t, group); object != nil && judge(object) != present(group) {
				t.Fatalf("the reference refuses the cluster at %d", at)
			}
		}
	})
}

// Noise that repeats over the whole cluster, at any distance that a far word can say: only its
// first turn is in the object.
func TestClusterMatchesReachThePagesBefore(t *testing.T) {
	rng := newRand(21)
	text, back := make([]byte, ClusterPages*Size), make([]byte, Size)
	judge := clusterDecoders(t)
	eachClusterPair(t, func(t *testing.T, p clusterPair) {
		for distance := 1; distance < 7*Size; distance += 1 + distance/4 {
			for i := range text {
				text[i] = byte(rng.Uint32())
				if i >= distance {
					text[i] = text[i-distance]
				}
			}
			var group [ClusterPages][]byte
			for i := range group {
				group[i] = text[i*Size : (i+1)*Size]
			}
			object := p.object(t, group)
			if object == nil || len(object) > distance+distance/16+400 {
				t.Fatalf("distance %d: %d bytes", distance, len(object))
			}
			for i := range group {
				if err := p.dec.DecompressCluster(back, i, object); err != nil || !bytes.Equal(back, group[i]) {
					t.Fatalf("distance %d: page %d came back different: %v", distance, i, err)
				}
			}
			if distance%7 == 0 {
				judge(object)
			}
		}
	})
}

// Neighbours that have something in common take less together. A page of noise takes no more
// than itself and little else, and noise alone has no object.
func TestClustersAreShorter(t *testing.T) {
	text := pages.Generate(pages.Text, ClusterPages, 22)
	eachClusterPair(t, func(t *testing.T, p clusterPair) {
		single, alone := newDensePair(t, ""), 0
		for _, page := range text {
			alone += len(single.object(t, page))
		}
		group := clusterAt(text, 0)
		if object := p.object(t, group); object == nil || len(object) >= alone {
			t.Errorf("%d bytes, and %d alone", len(object), alone)
		}
		before := p.object(t, group)
		group[2] = pages.Generate(pages.Random, 1, 22)[0]
		if object := p.object(t, group); len(object) > len(before)+Size+Size/8 {
			t.Errorf("with noise: %d bytes, without %d", len(object), len(before))
		}
		if object := p.object(t, clusterAt(pages.Generate(pages.Random, ClusterPages, 23), 0)); object != nil {
			t.Errorf("noise alone: %d bytes", len(object))
		}
	})
}

// The length of dst is an exact cap, and what is behind it stays.
func TestClusterCapIsExact(t *testing.T) {
	memory := make([]byte, MaxClusterObject+100)
	text := pages.Generate(pages.Text, ClusterPages+4, 23)
	eachClusterPair(t, func(t *testing.T, p clusterPair) {
		for at := range 4 {
			group := clusterAt(text, at)
			object := p.object(t, group)
			for limit := range len(object) + 2 {
				if limit < len(object)-2 && limit > 40 && (limit+at)%(160*codectest.Stride()) != 0 {
					continue
				}
				fill(memory, 0xA5)
				n, err := p.enc.CompressCluster(memory[:limit], group)
				if err != nil || limit < len(object) && n != 0 || limit >= len(object) && !bytes.Equal(memory[:n], object) {
					t.Fatalf("an object of %d bytes gave %d with a cap of %d: %v", len(object), n, limit, err)
				}
				if bytes.Count(memory[limit:], []byte{0xA5}) != len(memory)-limit {
					t.Fatalf("cap %d: bytes behind it were changed", limit)
				}
			}
		}
		if n, err := p.enc.CompressCluster(nil, clusterAt(text, 0)); n != 0 || err != nil {
			t.Errorf("%d bytes in no buffer, %v", n, err)
		}
	})
}

// F016 and F018: nothing of what was done before, nor of what lies in buffers, is in an object or a
// page.
func TestF016NoStateBetweenClusters(t *testing.T) {
	base := codectest.Generated()
	eachClusterPair(t, func(t *testing.T, p clusterPair) {
		back := make([]byte, Size)
		for i := range 40 {
			group := clusterAt(base, i*7)
			got := p.object(t, group)
			fresh := clusterPair{p.set, new(ClusterEncoder), new(ClusterDecoder)}
			fill(fresh.enc.streams.literals[:], byte(i))
			fill(fresh.enc.parser.text[margin:], byte(i))
			if want := fresh.object(t, group); !bytes.Equal(got, want) {
				t.Fatalf("cluster %d: %d bytes from a used encoder, %d from a fresh one, or other bytes", i, len(got), len(want))
			}
			if got == nil {
				continue
			}
			damaged := bytes.Clone(got)
			damaged[i%len(got)] ^= 1 << (i % 8)
			first := p.dec.DecompressCluster(back, i%ClusterPages, damaged)
			if second := fresh.dec.DecompressCluster(back, i%ClusterPages, damaged); (first == nil) != (second == nil) {
				t.Fatalf("cluster %d, damaged: %v from a used decoder, %v from a fresh one", i, first, second)
			}
			if err := p.dec.DecompressCluster(back, i%ClusterPages, got); err != nil || !bytes.Equal(back, group[i%ClusterPages]) {
				t.Fatalf("cluster %d: did not come back: %v", i, err)
			}
		}
	})
}

func TestF013WrongSizesCluster(t *testing.T) {
	eachClusterPair(t, func(t *testing.T, p clusterPair) {
		object := clusterObjects(t, 1)[0]
		if _, err := p.enc.CompressCluster(make([]byte, MaxClusterObject), [ClusterPages][]byte{}); !errors.Is(err, ErrNoPages) {
			t.Errorf("compress no page: got %v", err)
		}
		for _, n := range []int{0, Size - 1, Size + 1} {
			group := clusterAt(codectest.Generated(), 0)
			group[3] = make([]byte, n)
			if _, err := p.enc.CompressCluster(make([]byte, MaxClusterObject), group); !errors.Is(err, ErrSize) {
				t.Errorf("compress a page of %d bytes: got %v", n, err)
			}
			if err := p.dec.DecompressCluster(make([]byte, n), 0, object); !errors.Is(err, ErrSize) {
				t.Errorf("decompress to %d bytes: got %v", n, err)
			}
		}
		for _, index := range []int{-1, ClusterPages} {
			if err := p.dec.DecompressCluster(make([]byte, Size), index, object); !errors.Is(err, ErrIndex) {
				t.Errorf("page %d: got %v", index, err)
			}
		}
	})
	if _, err := NewClusterEncoder("mmx"); !errors.Is(err, impl.ErrUnavailable) {
		t.Errorf("encoder: got %v", err)
	}
	if _, err := NewClusterDecoder("mmx"); !errors.Is(err, impl.ErrUnavailable) {
		t.Errorf("decoder: got %v", err)
	}
}

func TestClustersAllocateNothing(t *testing.T) {
	object, back, base := make([]byte, MaxClusterObject), make([]byte, Size), codectest.Generated()
	eachClusterPair(t, func(t *testing.T, p clusterPair) {
		i := 0
		allocs := testing.AllocsPerRun(200, func() {
			n, err := p.enc.CompressCluster(object, clusterAt(base, i))
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				if err := p.dec.DecompressCluster(back, i%ClusterPages, object[:n]); err != nil {
					t.Fatal(err)
				}
			}
			i++
		})
		if allocs != 0 {
			t.Errorf("%v allocations a cluster", allocs)
		}
	})
}
