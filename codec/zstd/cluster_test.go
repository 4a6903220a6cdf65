// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// Every page of a cluster comes back alone, whatever the pages are.
func TestF016ClustersReadPageByPage(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		for level, share := range map[int]int{1: 40, 3: 80, 6: 800, 19: 20_000} {
			enc, err := NewClusterEncoder(level)
			if err != nil {
				t.Fatal(err)
			}
			_, dec := newPair(t, 1)
			var pages [ClusterPages][]byte
			for i := range pages {
				pages[i] = make([]byte, MaxSize)
			}
			back, object := make([]byte, MaxSize), make([]byte, MaxClusterObject)
			for i := range max(codectest.Rounds()/ClusterPages/share, 4) {
				for j := range pages {
					codectest.Derive(pages[j], base, i*ClusterPages+j)
				}
				n, err := enc.CompressCluster(object, pages)
				if err != nil || n == 0 {
					t.Fatalf("level %d, cluster %d: compress gave %d bytes: %v", level, i, n, err)
				}
				for j := range pages {
					if err := dec.DecompressCluster(back, j, object[:n]); err != nil || !bytes.Equal(back, pages[j]) {
						t.Fatalf("level %d, page %d of cluster %d came back different, or %v", level, j, i, err)
					}
				}
			}
		}
	})
}

// The length of dst is an exact cap, and nothing behind the object is written.
func TestClusterCapIsExact(t *testing.T) {
	enc, err := NewClusterEncoder(1)
	if err != nil {
		t.Fatal(err)
	}
	pages := [ClusterPages][]byte(codectest.Generated()[:ClusterPages])
	object := bytes.Repeat([]byte{0xA5}, MaxClusterObject)
	full, err := enc.CompressCluster(object, pages)
	if err != nil || full == 0 {
		t.Fatalf("%d bytes, %v", full, err)
	}
	if bytes.Count(object[full:], []byte{0xA5}) != len(object)-full {
		t.Error("bytes behind the object were written")
	}
	if n, err := enc.CompressCluster(make([]byte, full-1), pages); n != 0 || err != nil {
		t.Errorf("one byte less: %d bytes, %v", n, err)
	}
	if n, err := enc.CompressCluster(make([]byte, full), pages); n != full || err != nil {
		t.Errorf("just enough: %d bytes, %v", n, err)
	}
}

// Whatever an object holds, a page comes out or an error does, with dst left alone.
func TestClusterBitFlipsDoNoHarm(t *testing.T) {
	t.Parallel()
	enc, err := NewClusterEncoder(1)
	if err != nil {
		t.Fatal(err)
	}
	_, dec := newPair(t, 1)
	rng := rand.New(rand.NewPCG(16, 16))
	object, back := make([]byte, MaxClusterObject), make([]byte, MaxSize)
	refused := 0
	for at := 0; at < 40; at += ClusterPages {
		n, err := enc.CompressCluster(object, [ClusterPages][]byte(codectest.Generated()[at:at+ClusterPages]))
		if err != nil {
			t.Fatal(err)
		}
		for bit := 0; bit < n*8; bit += codectest.Stride() {
			object[bit/8] ^= 1 << (bit % 8)
			clear(back)
			if err := dec.DecompressCluster(back, rng.IntN(ClusterPages), object[:n]); err != nil {
				refused++
				if !errors.Is(err, ErrCorrupt) || errors.Is(err, errPanic) || len(bytes.Trim(back, "\x00")) != 0 {
					t.Fatalf("cluster %d, bit %d: got %v, or dst was written", at, bit, err)
				}
			}
			object[bit/8] ^= 1 << (bit % 8)
		}
	}
	if refused == 0 {
		t.Error("no flipped bit was ever refused")
	}
}

func TestClusterRefuses(t *testing.T) {
	for _, level := range []int{0, 20} {
		if _, err := NewClusterEncoder(level); !errors.Is(err, ErrLevel) {
			t.Errorf("level %d: got %v", level, err)
		}
	}
	enc, err := NewClusterEncoder(1)
	if err != nil {
		t.Fatal(err)
	}
	_, dec := newPair(t, 1)
	object := make([]byte, MaxClusterObject)
	pages := [ClusterPages][]byte(codectest.Generated()[:ClusterPages])
	n, err := enc.CompressCluster(object, pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range []int{-1, ClusterPages} {
		if err := dec.DecompressCluster(make([]byte, MaxSize), index, object[:n]); !errors.Is(err, ErrIndex) {
			t.Errorf("page %d: got %v", index, err)
		}
	}
	if err := dec.DecompressCluster(make([]byte, MaxSize-1), 0, object[:n]); !errors.Is(err, ErrSize) {
		t.Errorf("short dst: got %v", err)
	}
	pages[3] = nil
	if _, err := enc.CompressCluster(object, pages); !errors.Is(err, ErrSize) {
		t.Errorf("no page: got %v", err)
	}
}
