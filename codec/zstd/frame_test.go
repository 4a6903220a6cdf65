// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// The header that an object is stored without is the one that the library wrote, for every length.
func TestFrameHeaderIsTheLibrarys(t *testing.T) {
	enc, _ := newPair(t, 1)
	var header [maxFrameHeader]byte
	for n := 1; n <= MaxSize; n++ {
		frame := enc.enc.EncodeAll(codectest.Generated()[n-1][:n], nil)
		size := putFrameHeader(&header, n, nil)
		if !bytes.HasPrefix(frame, header[:size]) {
			t.Fatalf("%d bytes: the library wrote % x, we % x", n, frame[:size], header[:size])
		}
	}
}

// With its header back, an object is a frame that a decoder without our options reads.
func TestObjectIsAFramesBlock(t *testing.T) {
	enc, _ := newPair(t, 3)
	plain, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	object := make([]byte, MaxObject)
	for i, page := range codectest.Generated()[:500] {
		n, err := enc.Compress(object, page)
		if err != nil {
			t.Fatal(err)
		}
		var header [maxFrameHeader]byte
		frame := append(header[:putFrameHeader(&header, len(page), nil)], object[:n]...)
		got, err := plain.DecodeAll(frame, nil)
		if err != nil || !bytes.Equal(got, page) {
			t.Fatalf("page %d came back different, or %v", i, err)
		}
	}
}

// block returns a block header and n bytes of content.
func block(last bool, kind, size, n int) []byte {
	header := uint32(size)<<3 | uint32(kind)<<1
	if last {
		header |= 1
	}
	return append([]byte{byte(header), byte(header >> 8), byte(header >> 16)}, make([]byte, n)...)
}

// Only one block that fills the page and ends the object is passed to the library, so that it meets
// no header but ours.
func TestSoleBlock(t *testing.T) {
	cases := []struct {
		what   string
		object []byte
		want   bool
	}{
		{"raw page", block(true, blockRaw, MaxSize, MaxSize), true},
		{"repeated byte", block(true, blockRLE, MaxSize, 1), true},
		{"compressed", block(true, blockCompressed, 100, 100), true},
		{"nothing", nil, false},
		{"header alone", block(true, blockCompressed, 0, 0), false},
		{"not the last", block(false, blockCompressed, 100, 100), false},
		{"reserved kind", block(true, 3, 100, 100), false},
		{"cut short", block(true, blockCompressed, 100, 99), false},
		{"followed by more", block(true, blockCompressed, 100, 101), false},
		{"raw of another length", block(true, blockRaw, MaxSize-1, MaxSize-1), false},
		{"repeated to another length", block(true, blockRLE, 1<<20, 1), false},
		{"repeated byte of 2 bytes", block(true, blockRLE, MaxSize, 2), false},
		{"longer than any object", block(true, blockCompressed, MaxObject, MaxObject), false},
	}
	_, dec := newPair(t, 1)
	page := make([]byte, MaxSize)
	for _, c := range cases {
		if got := soleBlock(c.object, MaxSize); got != c.want {
			t.Errorf("%s: got %v, want %v", c.what, got, c.want)
		}
		if err := dec.Decompress(page, c.object); !c.want && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: decompress gave %v", c.what, err)
		}
	}
}

// An object followed by a whole second frame is refused, not decompressed in part.
func TestSecondFrameIsRefused(t *testing.T) {
	enc, dec := newPair(t, 1)
	page := codectest.Generated()[0]
	object := make([]byte, MaxObject)
	n, err := enc.Compress(object, page)
	if err != nil || n == 0 {
		t.Fatalf("compress gave %d bytes: %v", n, err)
	}
	skippable := []byte{0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0}
	if err := dec.Decompress(make([]byte, MaxSize), append(object[:n:n], skippable...)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}
