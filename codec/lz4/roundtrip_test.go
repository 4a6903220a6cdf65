// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"zramfs/codec/internal/codectest"
)

func TestF001LZ4Lossless(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		var enc Encoder
		page, back := make([]byte, MaxSize), make([]byte, MaxSize)
		object := make([]byte, MaxObject)
		for i := range codectest.Rounds() / 2 {
			codectest.Derive(page, base, i)
			n, err := enc.Compress(object, page)
			if err != nil || n == 0 {
				t.Fatalf("page %d: compress gave %d bytes: %v", i, n, err)
			}
			if err := Decompress(back, object[:n]); err != nil {
				t.Fatalf("page %d: %v", i, err)
			}
			if !bytes.Equal(back, page) {
				t.Fatalf("page %d came back different", i)
			}
		}
	})
}

func TestF005ShortBuffers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	random, back := make([]byte, MaxSize), make([]byte, MaxSize)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	object := make([]byte, MaxObject)
	var enc Encoder
	for n := 1; n <= MaxSize; n += codectest.Stride() {
		for _, src := range [][]byte{random[:n], make([]byte, n), codectest.Generated()[n-1][:n]} {
			size, err := enc.Compress(object, src)
			if err != nil || size == 0 {
				t.Fatalf("%d bytes: compress gave %d bytes: %v", n, size, err)
			}
			if err := Decompress(back[:n], object[:size]); err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			if !bytes.Equal(back[:n], src) {
				t.Fatalf("%d bytes came back different", n)
			}
		}
	}
}

func TestF013WrongSizes(t *testing.T) {
	var enc Encoder
	object := make([]byte, MaxObject)
	for _, n := range []int{0, MaxSize + 1, 1 << 20} {
		if _, err := enc.Compress(object, make([]byte, n)); !errors.Is(err, ErrSize) {
			t.Errorf("compress %d bytes: got %v", n, err)
		}
		if err := Decompress(make([]byte, n), object); !errors.Is(err, ErrSize) {
			t.Errorf("decompress to %d bytes: got %v", n, err)
		}
	}
}
