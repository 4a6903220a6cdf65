// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"testing"

	"zramfs/codec/internal/codectest"
)

// The whole page has to be read only where it is same-filled.
func BenchmarkSameFilled(b *testing.B) {
	page := repeated(0x0102030405060708, 4096)
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if _, ok := SameFilled(page); !ok {
			b.Fatal("not same-filled")
		}
	}
}

func BenchmarkEntropy(b *testing.B) {
	base := codectest.Generated()
	b.SetBytes(int64(len(base[0])))
	for i := 0; b.Loop(); i++ {
		Entropy(base[i%len(base)])
	}
}
