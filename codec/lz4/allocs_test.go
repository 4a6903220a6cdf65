// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"testing"

	"zramfs/codec/internal/codectest"
)

func TestPagesAllocateNothing(t *testing.T) {
	base := codectest.Generated()
	var enc Encoder
	object, page := make([]byte, MaxObject), make([]byte, MaxSize)
	i := 0
	allocs := testing.AllocsPerRun(len(base), func() {
		limit := MaxObject
		if i%2 == 0 {
			limit = 1000
		}
		n, err := enc.Compress(object[:limit], base[i%len(base)])
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			if err := Decompress(page, object[:n]); err != nil {
				t.Fatal(err)
			}
		}
		i++
	})
	if allocs != 0 {
		t.Errorf("%v allocations a page", allocs)
	}
}
