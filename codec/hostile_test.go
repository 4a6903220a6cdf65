// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// stored is an object with its ID.
type stored struct {
	id     ID
	object []byte
}

// samples returns objects of every codec.
func samples(t *testing.T, count int) []stored {
	t.Helper()
	var all []stored
	for _, name := range []string{"page", "page:dense", "lz4", "zstd(level=1)", "zstd", "raw"} {
		w := newWorker(t, name)
		for _, page := range codectest.Generated()[:count] {
			id, object, err := w.compress(page)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, stored{id, slices.Clone(object)})
		}
	}
	return all
}

// Whether a flipped bit is noticed is for the store's checksum to prove. Here it must only do no
// harm: no panic, no write outside dst, no error that is not ErrCorrupt.
func TestF009BitFlipsDoNoHarm(t *testing.T) {
	d := newWorker(t, "raw").d
	memory := bytes.Repeat([]byte{0xA5}, 3*PageSize)
	dst := memory[PageSize : 2*PageSize]
	for i, s := range samples(t, 10) {
		for bit := 0; bit < len(s.object)*8; bit += codectest.Stride() {
			s.object[bit/8] ^= 1 << (bit % 8)
			if err := d.Decompress(dst, s.id, s.object); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("object %d, bit %d: got %v", i, bit, err)
			}
			s.object[bit/8] ^= 1 << (bit % 8)
		}
		if bytes.Count(memory[:PageSize], []byte{0xA5}) != PageSize || bytes.Count(memory[2*PageSize:], []byte{0xA5}) != PageSize {
			t.Fatalf("object %d: bytes beside dst were written", i)
		}
	}
}

func TestF010TruncationIsDetected(t *testing.T) {
	w := newWorker(t, "raw")
	for i, s := range samples(t, 12) {
		for n := range s.object {
			if err := w.d.Decompress(w.back[:], s.id, s.object[:n]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s object %d cut from %d to %d bytes: got %v", s.id, i, len(s.object), n, err)
			}
		}
	}
}

// An object under another codec's ID is noise to it.
func TestWrongIDDoesNoHarm(t *testing.T) {
	w := newWorker(t, "raw")
	for i, s := range samples(t, 100) {
		for _, id := range []ID{Raw, LZ4, Zstd, Page, PageDense} {
			if err := w.d.Decompress(w.back[:], id, s.object); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("object %d of %s as %s: got %v", i, s.id, id, err)
			}
		}
	}
}
