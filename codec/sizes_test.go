// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"testing"
)

func TestF013WrongPageSize(t *testing.T) {
	eachAlgorithm(t, every(), func(t *testing.T, _ string, w *worker) {
		dst := make([]byte, 2*PageSize)
		for _, n := range []int{0, 1, PageSize - 1, PageSize + 1, 2 * PageSize, 16 * PageSize} {
			if _, _, err := w.c.Compress(dst, make([]byte, n)); !errors.Is(err, ErrPageSize) {
				t.Errorf("compress %d bytes: got %v", n, err)
			}
			for _, id := range []ID{Raw, LZ4, Zstd, Page, PageDense} {
				if err := w.d.Decompress(make([]byte, n), id, dst[:PageSize]); !errors.Is(err, ErrPageSize) {
					t.Errorf("decompress %s to %d bytes: got %v", id, n, err)
				}
			}
		}
	})
}

func TestF013ShortObjectBuffer(t *testing.T) {
	eachAlgorithm(t, every(), func(t *testing.T, _ string, w *worker) {
		for _, n := range []int{0, 100, PageSize - 1} {
			// The capacity is enough; the length is what counts.
			if _, _, err := w.c.Compress(make([]byte, n, PageSize), make([]byte, PageSize)); !errors.Is(err, ErrBuffer) {
				t.Errorf("%d bytes: got %v", n, err)
			}
		}
		if _, _, err := w.c.Compress(make([]byte, PageSize), make([]byte, PageSize)); err != nil {
			t.Errorf("%d bytes: got %v", PageSize, err)
		}
	})
}

// IDs that no object has are refused, whatever lies there.
func TestUnknownIDs(t *testing.T) {
	w := newWorker(t, "lz4")
	_, object, err := w.compress(make([]byte, PageSize))
	if err != nil {
		t.Fatal(err)
	}
	for id := range 256 {
		switch ID(id) {
		case Raw, LZ4, Zstd, Page, PageDense, ZstdDict:
			continue
		}
		if err := w.d.Decompress(w.back[:], ID(id), object); !errors.Is(err, ErrCorrupt) {
			t.Errorf("ID %d: got %v", id, err)
		}
	}
}
