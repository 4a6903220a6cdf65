// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"testing"

	"zramfs/codec/internal/codectest"
)

// Source and destination lie against inaccessible pages on both sides, so that a read or write one byte outside ends the test.
// The library's decoder is assembly, which neither the compiler's bounds checks nor the race detector see.
func TestF014BetweenGuardPages(t *testing.T) {
	pageEnd, pageStart := codectest.Guarded(t, MaxSize)
	backEnd, backStart := codectest.Guarded(t, MaxSize)
	objectEnd, _ := codectest.Guarded(t, MaxObject)
	cappedEnd, _ := codectest.Guarded(t, 3072)
	var enc Encoder
	for i, base := range codectest.Generated()[:2000] {
		for _, page := range [][]byte{pageEnd, pageStart} {
			copy(page, base)
			if _, err := enc.Compress(cappedEnd, page); err != nil {
				t.Fatal(err)
			}
			n, err := enc.Compress(objectEnd, page)
			if err != nil || n == 0 {
				t.Fatalf("page %d: compress gave %d bytes: %v", i, n, err)
			}
			// Move the object against the guard page behind it.
			object := objectEnd[MaxObject-n:]
			copy(object, objectEnd[:n])
			for _, back := range [][]byte{backEnd, backStart} {
				if err := Decompress(back, object); err != nil || !bytes.Equal(back, page) {
					t.Fatalf("page %d: came back different, or %v", i, err)
				}
			}
		}
	}
}

// Damaged and cut objects keep inside as well.
func TestF014HostileBetweenGuardPages(t *testing.T) {
	page, _ := codectest.Guarded(t, MaxSize)
	memory, _ := codectest.Guarded(t, MaxObject)
	refused := 0
	for _, object := range objects(t, 20) {
		flush := memory[MaxObject-len(object):]
		for at := range object {
			copy(flush, object)
			flush[at] ^= 0xFF
			if Decompress(page, flush) != nil {
				refused++
			}
			cut := memory[MaxObject-at:]
			copy(cut, object[:at])
			if Decompress(page, cut) == nil {
				t.Fatalf("an object cut to %d bytes was read", at)
			}
		}
	}
	if refused == 0 {
		t.Error("no damaged object was refused")
	}
}

// Short buffers, whose last copies must be narrow.
func TestF014ShortBuffersBetweenGuardPages(t *testing.T) {
	srcMemory, _ := codectest.Guarded(t, MaxSize)
	backMemory, _ := codectest.Guarded(t, MaxSize)
	object := make([]byte, MaxObject)
	var enc Encoder
	for n := 1; n <= 600; n++ {
		src, back := srcMemory[MaxSize-n:], backMemory[MaxSize-n:]
		copy(src, codectest.Generated()[n])
		size, err := enc.Compress(object, src)
		if err != nil || size == 0 {
			t.Fatalf("%d bytes: compress gave %d bytes: %v", n, size, err)
		}
		if err := Decompress(back, object[:size]); err != nil || !bytes.Equal(back, src) {
			t.Fatalf("%d bytes: came back different, or %v", n, err)
		}
	}
}
