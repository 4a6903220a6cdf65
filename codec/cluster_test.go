// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/internal/pages"
)

// newClusters returns a cluster compressor of the algorithm that name names.
func newClusters(tb testing.TB, name string) ClusterCompressor {
	tb.Helper()
	a, err := Parse(name)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := a.NewClusterCompressor()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// newClusterReader returns a cluster decompressor of the algorithm that name names.
func newClusterReader(tb testing.TB, name string) *ClusterDecompressor {
	tb.Helper()
	a, err := Parse(name)
	if err != nil {
		tb.Fatal(err)
	}
	d, err := a.NewClusterDecompressor()
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// eachClusters runs f as a subtest for an algorithm of each codec that has clusters, with that
// codec's ID.
func eachClusters(t *testing.T, f func(t *testing.T, name string, id ID)) {
	t.Helper()
	for name, id := range map[string]ID{"page:dense": PageDenseCluster} {
		t.Run(name, func(t *testing.T) { f(t, name, id) })
	}
}

// clusterOf returns a cluster's pages of base from a number on.
func clusterOf(base [][]byte, at int) (group [ClusterPages][]byte) {
	for i := range group {
		group[i] = base[(at+i)%len(base)]
	}
	return group
}

// Each page of a cluster comes back alone, in any order, from objects read in turn: nothing of one
// stays for the next.
func TestF016ClustersReadPageByPage(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		for _, name := range []string{"page:dense", "page:dense:simd=generic"} {
			c, d := newClusters(t, name), newClusterReader(t, name)
			var before []byte
			back, object := make([]byte, PageSize), make([]byte, ClusterPages*PageSize)
			kept := 0
			for at := 0; at+2*ClusterPages <= len(base); at += ClusterPages * codectest.Stride() {
				group := clusterOf(base, at)
				id, n, err := c.CompressCluster(object, group)
				if err != nil {
					t.Fatal(err)
				}
				if id == None {
					continue
				}
				kept++
				for turn := range ClusterPages {
					index := (turn*3 + at) % ClusterPages
					if err := d.DecompressCluster(back, id, index, object[:n]); err != nil || !bytes.Equal(back, group[index]) {
						t.Fatalf("%s: page %d of the cluster at %d came back different, or %v", name, index, at, err)
					}
					if before != nil {
						if err := d.DecompressCluster(back, id, turn, before); err != nil {
							t.Fatal(err)
						}
					}
				}
				before = slices.Clone(object[:n])
			}
			if kept == 0 {
				t.Error("the pages prove nothing")
			}
		}
	})
}

// Pages of the same object, one after another, come back from what was decompressed before; an
// absent one does not, and another object is another.
func TestClusterIsKept(t *testing.T) {
	c, d := newClusters(t, "page:dense"), newClusterReader(t, "page:dense")
	var objects [2][]byte
	var groups [2][ClusterPages][]byte
	for i := range objects {
		groups[i] = clusterOf(codectest.Generated(), 8*i)
		groups[i][2] = nil
		object := make([]byte, ClusterPages*PageSize)
		_, n, err := c.CompressCluster(object, groups[i])
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
		objects[i] = object[:n+i*3] // zeros may follow
	}
	back := make([]byte, PageSize)
	for turn, which := range []int{0, 0, 1, 0, 1, 1, 0} {
		for i := range ClusterPages {
			index := (i*5 + turn) % ClusterPages
			err := d.DecompressCluster(back, PageDenseCluster, index, objects[which])
			if want := groups[which][index]; want == nil && !errors.Is(err, ErrCorrupt) || want != nil && (err != nil || !bytes.Equal(back, want)) {
				t.Fatalf("turn %d, page %d of cluster %d came back different, or %v", turn, index, which, err)
			}
		}
		damaged := slices.Clone(objects[which])
		damaged[0] ^= 1 // the first page is absent
		for range 3 {
			if err := d.DecompressCluster(back, PageDenseCluster, 0, damaged); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("turn %d, cluster %d without its first page: %v", turn, which, err)
			}
		}
	}
}

// The object depends on its pages alone.
func TestF016NoStateBetweenClusters(t *testing.T) {
	eachClusters(t, noStateBetweenClusters)
}

func noStateBetweenClusters(t *testing.T, name string, _ ID) {
	used := newClusters(t, name)
	object, want := make([]byte, ClusterPages*PageSize), make([]byte, ClusterPages*PageSize)
	for at := 0; at < 2000; at += ClusterPages {
		group := clusterOf(codectest.Generated(), at)
		_, n, err := used.CompressCluster(object, group)
		if err != nil {
			t.Fatal(err)
		}
		if at%400 != 0 {
			continue
		}
		if _, m, err := newClusters(t, name).CompressCluster(want, group); err != nil || !bytes.Equal(object[:n], want[:m]) {
			t.Fatalf("cluster at %d: %d bytes from a used compressor, %d from a fresh one, or other bytes, or %v", at, n, m, err)
		}
	}
}

// Four pages that share what they hold take less than each alone.
func TestClusterIsSmallerThanItsPages(t *testing.T) {
	eachClusters(t, clusterIsSmaller)
}

func clusterIsSmaller(t *testing.T, name string, want ID) {
	c, w := newClusters(t, name), newWorker(t, name)
	object := make([]byte, ClusterPages*PageSize)
	text := pages.Generate(pages.Text, ClusterPages, 16)
	alone := 0
	for _, page := range text {
		_, one, err := w.compress(page)
		if err != nil {
			t.Fatal(err)
		}
		alone += len(one)
	}
	if id, n, err := c.CompressCluster(object, clusterOf(text, 0)); id != want || n >= alone || err != nil {
		t.Errorf("%s of %d bytes, %v; the pages alone take %d", id, n, err, alone)
	}
}

// Pages that gain nothing together, or do not fit, are no cluster.
func TestClusterOrNot(t *testing.T) {
	eachClusters(t, clusterOrNot)
}

func clusterOrNot(t *testing.T, name string, _ ID) {
	c := newClusters(t, name)
	random := clusterOf(pages.Generate(pages.Random, ClusterPages, 17), 0)
	if id, _, err := c.CompressCluster(make([]byte, 2*ClusterPages*PageSize), random); id != None || err != nil {
		t.Errorf("random pages: %s, %v", id, err)
	}
	text := clusterOf(pages.Generate(pages.Text, ClusterPages, 17), 0)
	memory := bytes.Repeat([]byte{0xA5}, ClusterPages*PageSize)
	if id, _, err := c.CompressCluster(memory[:100], text); id != None || err != nil {
		t.Errorf("100 bytes for it: %s, %v", id, err)
	}
	if bytes.Count(memory, []byte{0xA5}) < len(memory)-100 {
		t.Error("bytes behind dst were written")
	}
}

func TestClusterRefuses(t *testing.T) {
	eachClusters(t, clusterRefuses)
}

func clusterRefuses(t *testing.T, name string, want ID) {
	c, d := newClusters(t, name), newClusterReader(t, name)
	object, back := make([]byte, ClusterPages*PageSize), make([]byte, PageSize)
	group := clusterOf(pages.Generate(pages.Text, ClusterPages, 18), 0)
	id, n, err := c.CompressCluster(object, group)
	if err != nil || id != want {
		t.Fatalf("%s, %v", id, err)
	}
	object = object[:n]
	for _, index := range []int{-1, ClusterPages} {
		if err := d.DecompressCluster(back, id, index, object); !errors.Is(err, ErrIndex) {
			t.Errorf("index %d: got %v", index, err)
		}
	}
	if err := d.DecompressCluster(back[:100], id, 0, object); !errors.Is(err, ErrPageSize) {
		t.Errorf("short dst: got %v", err)
	}
	for other := range 256 {
		if ID(other) != want {
			if err := d.DecompressCluster(back, ID(other), 0, object); !errors.Is(err, ErrCorrupt) {
				t.Errorf("as %s: got %v", ID(other), err)
			}
		}
	}
	if err := newWorker(t, "raw").d.Decompress(back, id, object); !errors.Is(err, ErrCorrupt) {
		t.Errorf("as a page: got %v", err)
	}
	for cut := range object {
		if err := d.DecompressCluster(back, id, 0, object[:cut]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: got %v", cut, n, err)
		}
	}
	group[2] = group[2][:PageSize-1]
	if _, _, err := c.CompressCluster(make([]byte, PageSize), group); !errors.Is(err, ErrPageSize) {
		t.Errorf("short page: got %v", err)
	}
}

// Absent pages take no part and cannot be read, and zeros may follow an object.
func TestClusterWithAbsentPages(t *testing.T) {
	c, d := newClusters(t, "page:dense"), newClusterReader(t, "page:dense")
	object, back := make([]byte, MaxClusterObject), make([]byte, PageSize)
	for seed := range 1<<ClusterPages - 1 {
		group := clusterOf(pages.Generate(pages.Text, ClusterPages, uint64(seed)), 0)
		for i := range group {
			if (seed+1)>>i&1 == 0 {
				group[i] = nil
			}
		}
		id, n, err := c.CompressCluster(object, group)
		if err != nil || id != PageDenseCluster {
			t.Fatalf("%s, %v", id, err)
		}
		padded := append(slices.Clone(object[:n]), make([]byte, -n&7)...)
		for i, page := range group {
			err := d.DecompressCluster(back, id, i, padded)
			if page == nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("page %d of %08b, which is absent: %v", i, seed+1, err)
			}
			if page != nil && (err != nil || !bytes.Equal(back, page)) {
				t.Errorf("page %d of %08b came back different, or %v", i, seed+1, err)
			}
		}
	}
	if _, _, err := c.CompressCluster(object, [ClusterPages][]byte{}); !errors.Is(err, ErrNoPages) {
		t.Errorf("no page: got %v", err)
	}
}

func TestAlgorithmsWithoutClusters(t *testing.T) {
	lz4, err := Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lz4.NewClusterCompressor(); !errors.Is(err, ErrNoCluster) {
		t.Errorf("lz4: got %v", err)
	}
}
