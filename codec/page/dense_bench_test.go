// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/internal/pages"
)

// benchmarkedDense returns some of the pages of the sample that have objects, and these.
func benchmarkedDense(b *testing.B) (some, objects [][]byte) {
	p := newDensePair(b, "")
	all := pages.Real(b)
	for i := 0; i < len(all); i += 7 {
		if object := p.object(b, all[i]); object != nil {
			some, objects = append(some, all[i]), append(objects, object)
		}
	}
	return some, objects
}

func BenchmarkCompressDense(b *testing.B) {
	some, _ := benchmarkedDense(b)
	for _, e := range denseTable {
		if !impl.Has(e.Set) {
			continue
		}
		b.Run(string(e.Set), func(b *testing.B) {
			p, object := newDensePair(b, e.Set), make([]byte, Size)
			b.SetBytes(Size)
			for i := 0; b.Loop(); i++ {
				if _, err := p.enc.Compress(object, some[i%len(some)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecompressDense(b *testing.B) {
	_, objects := benchmarkedDense(b)
	for _, e := range denseTable {
		if !impl.Has(e.Set) {
			continue
		}
		b.Run(string(e.Set), func(b *testing.B) {
			p, page := newDensePair(b, e.Set), make([]byte, Size)
			b.SetBytes(Size)
			for i := 0; b.Loop(); i++ {
				if err := p.dec.Decompress(page, objects[i%len(objects)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
