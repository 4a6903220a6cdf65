// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"testing"

	"zramfs/codec/internal/codectest"
)

// The length of dst is an exact cap: with the object's own length it fits, and is the same object; with less it does not.
func TestCapIsExact(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		var enc Encoder
		object, capped := make([]byte, MaxObject), make([]byte, MaxObject)
		tried := 0
		for i := 0; i < len(base); i += 7 * codectest.Stride() {
			full, err := enc.Compress(object, base[i])
			if err != nil {
				t.Fatal(err)
			}
			if full >= MaxSize {
				continue
			}
			tried++
			for _, limit := range []int{full - 1, full / 2, 1, 0} {
				if n, err := enc.Compress(capped[:limit], base[i]); n != 0 || err != nil {
					t.Fatalf("page %d: object of %d bytes gave %d bytes with a cap of %d: %v", i, full, n, limit, err)
				}
			}
			n, err := enc.Compress(capped[:full], base[i])
			if err != nil || !bytes.Equal(capped[:n], object[:full]) {
				t.Fatalf("page %d: object of %d bytes gave %d bytes with that cap: %v", i, full, n, err)
			}
		}
		if tried == 0 {
			t.Error("no page compressed")
		}
	})
}

// What does not fit must not be written into the capacity behind dst either.
func TestCapKeepsWhatIsBehind(t *testing.T) {
	var enc Encoder
	memory := make([]byte, 2*MaxSize)
	for _, limit := range []int{0, 100, 3072, 3840, MaxSize} {
		for i := range memory {
			memory[i] = 0xA5
		}
		for _, page := range codectest.Generated()[:1000] {
			if _, err := enc.Compress(memory[:limit], page); err != nil {
				t.Fatal(err)
			}
		}
		if got := bytes.Count(memory[limit:], []byte{0xA5}); got != len(memory)-limit {
			t.Errorf("cap %d: %d bytes behind it were changed", limit, len(memory)-limit-got)
		}
	}
}
