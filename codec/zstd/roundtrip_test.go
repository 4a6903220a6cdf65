// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// newPair returns an encoder and a decoder.
func newPair(tb testing.TB, level int) (*Encoder, *Decoder) {
	tb.Helper()
	enc, err := NewEncoder(level)
	if err != nil {
		tb.Fatal(err)
	}
	dec, err := NewDecoder()
	if err != nil {
		tb.Fatal(err)
	}
	return enc, dec
}

// roundTrip sends count pages of a stream there and back.
func roundTrip(t *testing.T, level, count int, base [][]byte) {
	t.Helper()
	enc, dec := newPair(t, level)
	page, back := make([]byte, MaxSize), make([]byte, MaxSize)
	object := make([]byte, MaxObject)
	for i := range count {
		codectest.Derive(page, base, i)
		n, err := enc.Compress(object, page)
		if err != nil || n == 0 {
			t.Fatalf("page %d: compress gave %d bytes: %v", i, n, err)
		}
		if err := dec.Decompress(back, object[:n]); err != nil {
			t.Fatalf("page %d: %v", i, err)
		}
		if !bytes.Equal(back, page) {
			t.Fatalf("page %d came back different", i)
		}
	}
}

// The page counts take the encoder past the point, at 174,763 pages, where the library's positions
// run out and its tables are cleared.
func TestF002ZstdLossless(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		t.Parallel()
		roundTrip(t, 1, codectest.Rounds()/2, base)
	})
}

func TestF002OtherLevelsLossless(t *testing.T) {
	for level, share := range map[int]int{3: 20, 6: 50, 19: 500} {
		t.Run(fmt.Sprint("level", level), func(t *testing.T) {
			roundTrip(t, level, codectest.Rounds()/share, codectest.Generated())
		})
	}
}

func TestF005ShortBuffers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	random, back := make([]byte, MaxSize), make([]byte, MaxSize)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	object := make([]byte, MaxObject)
	for _, level := range []int{1, 3, 6} {
		enc, dec := newPair(t, level)
		for n := 1; n <= MaxSize; n += codectest.Stride() {
			for _, src := range [][]byte{random[:n], make([]byte, n), codectest.Generated()[n-1][:n]} {
				size, err := enc.Compress(object, src)
				if err != nil || size == 0 {
					t.Fatalf("%d bytes: compress gave %d bytes: %v", n, size, err)
				}
				if err := dec.Decompress(back[:n], object[:size]); err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
				if !bytes.Equal(back[:n], src) {
					t.Fatalf("%d bytes came back different", n)
				}
			}
		}
	}
}

func TestF013WrongSizes(t *testing.T) {
	enc, dec := newPair(t, 1)
	object := make([]byte, MaxObject)
	for _, n := range []int{0, MaxSize + 1, 1 << 20} {
		if _, err := enc.Compress(object, make([]byte, n)); !errors.Is(err, ErrSize) {
			t.Errorf("compress %d bytes: got %v", n, err)
		}
		if err := dec.Decompress(make([]byte, n), object); !errors.Is(err, ErrSize) {
			t.Errorf("decompress to %d bytes: got %v", n, err)
		}
	}
}
