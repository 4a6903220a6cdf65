// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// Source and destination lie against inaccessible pages on both sides, so that a read or write one
// byte outside ends the test.
func TestF014BetweenGuardPages(t *testing.T) {
	pageEnd, pageStart := codectest.Guarded(t, MaxSize)
	backEnd, backStart := codectest.Guarded(t, MaxSize)
	objectEnd, _ := codectest.Guarded(t, MaxObject)
	for _, level := range []int{1, 3, 6} {
		enc, dec := newPair(t, level)
		for i, base := range codectest.Generated()[:1000/codectest.Stride()] {
			for _, page := range [][]byte{pageEnd, pageStart} {
				copy(page, base)
				n, err := enc.Compress(objectEnd, page)
				if err != nil || n == 0 {
					t.Fatalf("page %d: compress gave %d bytes: %v", i, n, err)
				}
				// Move the object against the guard page behind it.
				object := objectEnd[MaxObject-n:]
				copy(object, objectEnd[:n])
				for _, back := range [][]byte{backEnd, backStart} {
					if err := dec.Decompress(back, object); err != nil || !bytes.Equal(back, page) {
						t.Fatalf("page %d: came back different, or %v", i, err)
					}
				}
			}
		}
	}
}

// The library's own buffers, where it does its wide copies, lie against inaccessible pages too, for
// good and damaged objects.
func TestF014LibraryBetweenGuardPages(t *testing.T) {
	_, dec := newPair(t, 1)
	frame, _ := codectest.Guarded(t, maxFrameHeader+MaxObject)
	out, _ := codectest.Guarded(t, MaxSize+slack)
	refused := 0
	for i, object := range objects(t, 30) {
		whole := frame[len(frame)-maxPlainHeader-len(object):]
		var header [maxFrameHeader]byte
		copy(whole, header[:putFrameHeader(&header, MaxSize, nil)])
		for at := -1; at < len(object); at++ {
			copy(whole[maxPlainHeader:], object)
			if at >= 0 {
				whole[maxPlainHeader+at] ^= 0xFF
			}
			_, err := dec.dec.DecodeAll(whole, out[:0])
			if at < 0 && err != nil {
				t.Fatalf("object %d: %v", i, err)
			}
			if err != nil {
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("no damaged object was refused")
	}
}
