// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"errors"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// FuzzContent puts a block header in order before anything, so that it reaches the library's tables
// and bit streams, which noise with a header of its own hardly ever does. Two decoders must agree;
// one has just read a good object.
func FuzzContent(f *testing.F) {
	enc, dec := newPair(f, 1)
	good := make([]byte, MaxObject)
	for _, page := range codectest.Generated()[:24] {
		n, err := enc.Compress(good, page)
		if err != nil || n == 0 {
			f.Fatalf("compress gave %d bytes: %v", n, err)
		}
		f.Add(good[blockHeaderSize:n])
	}
	n, err := enc.Compress(good, recordPage(source(), MaxSize))
	if err != nil || n == 0 {
		f.Fatalf("compress gave %d bytes: %v", n, err)
	}
	_, other := newPair(f, 1)
	page, again := make([]byte, MaxSize), make([]byte, MaxSize)
	f.Fuzz(func(t *testing.T, content []byte) {
		object := append(block(true, blockCompressed, len(content), 0), content...)
		if err := other.Decompress(again, good[:n]); err != nil {
			t.Fatal(err)
		}
		first, second := dec.Decompress(page, object), other.Decompress(again, object)
		if (first == nil) != (second == nil) {
			t.Fatalf("first %v, then %v", first, second)
		}
		if first != nil && (!errors.Is(first, ErrCorrupt) || errors.Is(first, errPanic)) {
			t.Fatalf("got %v", first)
		}
		if first == nil && string(page) != string(again) {
			t.Fatal("two pages from one object")
		}
	})
}
