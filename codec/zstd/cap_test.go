// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// The length of dst is an exact cap, and nothing behind the object is written.
func TestCapIsExact(t *testing.T) {
	enc, _ := newPair(t, 1)
	object, capped := make([]byte, MaxObject), make([]byte, MaxObject)
	for i, page := range codectest.Generated()[:1000] {
		full, err := enc.Compress(object, page)
		if err != nil || full == 0 {
			t.Fatalf("page %d: compress gave %d bytes: %v", i, full, err)
		}
		for j := range capped {
			capped[j] = 0xA5
		}
		for _, limit := range []int{full - 1, 1, 0} {
			if n, err := enc.Compress(capped[:limit], page); n != 0 || err != nil {
				t.Fatalf("page %d: object of %d bytes gave %d bytes with a cap of %d: %v", i, full, n, limit, err)
			}
		}
		n, err := enc.Compress(capped[:full], page)
		if err != nil || !bytes.Equal(capped[:n], object[:full]) {
			t.Fatalf("page %d: object of %d bytes gave %d bytes with that cap: %v", i, full, n, err)
		}
		if behind := bytes.Count(capped[full:], []byte{0xA5}); behind != len(capped)-full {
			t.Fatalf("page %d: bytes behind its object were written", i)
		}
	}
}
