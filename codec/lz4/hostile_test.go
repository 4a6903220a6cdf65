// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"zramfs/codec/internal/codectest"
)

// objects returns the objects of some pages, of all kinds.
func objects(t *testing.T, count int) [][]byte {
	t.Helper()
	var enc Encoder
	var all [][]byte
	for _, page := range codectest.Generated()[:count] {
		object := make([]byte, MaxObject)
		n, err := enc.Compress(object, page)
		if err != nil || n == 0 {
			t.Fatalf("compress gave %d bytes: %v", n, err)
		}
		all = append(all, object[:n:n])
	}
	return all
}

func TestF010TruncationIsDetected(t *testing.T) {
	page := make([]byte, MaxSize)
	for i, object := range objects(t, 40) {
		for n := range object {
			if err := Decompress(page, object[:n]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("object %d cut from %d to %d bytes: got %v", i, len(object), n, err)
			}
		}
	}
}

// A flipped bit may pass here, the store's checksum is what sees it. It must do no harm: each call fills dst or fails, and
// writes nothing beside it.
func TestBitFlipsDoNoHarm(t *testing.T) {
	memory := make([]byte, 3*MaxSize)
	page := memory[MaxSize : 2*MaxSize]
	outside := func() bool {
		return len(bytes.TrimLeft(memory[:MaxSize], "\x00")) != 0 || len(bytes.TrimLeft(memory[2*MaxSize:], "\x00")) != 0
	}
	refused := 0
	for i, object := range objects(t, 20) {
		for bit := 0; bit < len(object)*8; bit += codectest.Stride() {
			object[bit/8] ^= 1 << (bit % 8)
			if err := Decompress(page, object); errors.Is(err, ErrCorrupt) {
				refused++
			} else if err != nil {
				t.Fatalf("object %d, bit %d: got %v", i, bit, err)
			}
			object[bit/8] ^= 1 << (bit % 8)
		}
		if outside() {
			t.Fatalf("object %d: bytes outside dst were written", i)
		}
	}
	if refused == 0 {
		t.Error("no flipped bit was ever refused")
	}
}

func TestNoiseIsRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	page, noise := make([]byte, MaxSize), make([]byte, MaxObject)
	for range 20_000 / codectest.Stride() {
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		// Noise that is a block of just a page's length would be 1 in thousands of millions.
		if err := Decompress(page, noise[:rng.IntN(len(noise)+1)]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("noise was read: %v", err)
		}
	}
}
