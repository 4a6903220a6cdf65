// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// objects returns the objects of some pages, of all kinds.
func objects(t *testing.T, count int) [][]byte {
	t.Helper()
	enc, _ := newPair(t, 3)
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
	_, dec := newPair(t, 1)
	page := make([]byte, MaxSize)
	for i, object := range objects(t, 40) {
		for n := range object {
			if err := dec.Decompress(page, object[:n]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("object %d cut from %d to %d bytes: got %v", i, len(object), n, err)
			}
		}
	}
}

// A flipped bit may pass here, the store's checksum is what sees it. It must do no harm: each call
// fills dst, or fails and leaves it alone, and the decoder reads the next object as if nothing had
// been.
func TestBitFlipsDoNoHarm(t *testing.T) {
	_, dec := newPair(t, 1)
	page, want := make([]byte, MaxSize), make([]byte, MaxSize)
	refused := 0
	for i, object := range objects(t, 20) {
		if err := dec.Decompress(want, object); err != nil {
			t.Fatal(err)
		}
		for bit := 0; bit < len(object)*8; bit += codectest.Stride() {
			clear(page)
			object[bit/8] ^= 1 << (bit % 8)
			err := dec.Decompress(page, object)
			object[bit/8] ^= 1 << (bit % 8)
			if err == nil {
				continue
			}
			refused++
			if !errors.Is(err, ErrCorrupt) || errors.Is(err, errPanic) {
				t.Fatalf("object %d, bit %d: got %v", i, bit, err)
			}
			if len(bytes.TrimLeft(page, "\x00")) != 0 {
				t.Fatalf("object %d, bit %d: refused, but dst was written", i, bit)
			}
		}
		if err := dec.Decompress(page, object); err != nil || !bytes.Equal(page, want) {
			t.Fatalf("object %d, after its flipped copies: came back different, or %v", i, err)
		}
	}
	if refused == 0 {
		t.Error("no flipped bit was ever refused")
	}
}

// Noise behind a block header that is in order reaches the library's tables and bit streams.
func TestNoiseTakesNoMemory(t *testing.T) {
	_, dec := newPair(t, 1)
	rng := rand.New(rand.NewPCG(10, 10))
	page := make([]byte, MaxSize)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rounds := 20_000 / codectest.Stride()
	for range rounds {
		n := 2 + rng.IntN(600)
		noise := block(true, blockCompressed, n, n)
		for i := range n {
			noise[blockHeaderSize+i] = byte(rng.Uint32())
		}
		if err := dec.Decompress(page, noise); err != nil && (!errors.Is(err, ErrCorrupt) || errors.Is(err, errPanic)) {
			t.Fatalf("got %v", err)
		}
	}
	runtime.ReadMemStats(&after)
	// The noise itself and the texts of the errors take under 2 KiB a round; a page's worth more
	// would be an output.
	if perRound := (after.TotalAlloc - before.TotalAlloc) / uint64(rounds); perRound > 2*MaxSize {
		t.Errorf("%d bytes were allocated a round", perRound)
	}
}

func TestPanicOfTheLibraryIsAnError(t *testing.T) {
	call := func() (err error) {
		defer contain(&err)
		var none []byte
		return errors.New(string(none[len(none)]))
	}
	if err := call(); !errors.Is(err, errPanic) {
		t.Errorf("got %v", err)
	}
}
