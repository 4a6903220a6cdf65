// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/internal/pages"
)

// The whole page has to be read only where it is same-filled.
func BenchmarkSameFilled(b *testing.B) {
	page := repeated(0x0102030405060708, 4096)
	for _, e := range repeatsTable {
		if !impl.Has(e.Set) {
			continue
		}
		b.Run("whole/"+string(e.Set), func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			for b.Loop() {
				if !e.F(page, 0x0102030405060708) {
					b.Fatal("not same-filled")
				}
			}
		})
	}
	b.Run("mix", func(b *testing.B) {
		base := codectest.Generated()
		for i := 0; b.Loop(); i++ {
			SameFilled(base[i%256])
		}
	})
	b.Run("real", func(b *testing.B) {
		base := pages.Real(b)
		for i := 0; b.Loop(); i++ {
			SameFilled(base[i*17%256])
		}
	})
}

func BenchmarkScan(b *testing.B) {
	base := codectest.Generated()
	for _, e := range countTable {
		if !impl.Has(e.Set) {
			continue
		}
		b.Run(string(e.Set), func(b *testing.B) {
			b.SetBytes(PageSize)
			for i := 0; b.Loop(); i++ {
				e.F(base[i%8])
			}
		})
	}
}

// BenchmarkChoose measures all that a page costs the selector.
func BenchmarkChoose(b *testing.B) {
	base := codectest.Generated()
	c := NewChooser(1400, 900)
	b.SetBytes(PageSize)
	for i := 0; b.Loop(); i++ {
		toDense := c.Choose(Scan(base[i%256]), 4)
		c.Learn(toDense, 1000+i%256)
	}
}

func BenchmarkEntropy(b *testing.B) {
	base := codectest.Generated()
	b.SetBytes(int64(len(base[0])))
	for i := 0; b.Loop(); i++ {
		Entropy(base[i%len(base)])
	}
}
