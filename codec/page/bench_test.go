// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/zramfs/zramfs/internal/pages"
)

// stride is how far the benchmarks go through the real pages at once, so that a short run meets all
// programs.
const stride = 7

func BenchmarkCompress(b *testing.B) {
	all := pages.Real(b)
	object := make([]byte, Size)
	for _, p := range pairs(b) {
		b.Run(string(p.set), func(b *testing.B) {
			b.SetBytes(Size)
			for i := 0; b.Loop(); i = (i + stride) % len(all) {
				if _, err := p.enc.Compress(object, all[i]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecompress(b *testing.B) {
	var objects [][]byte
	enc, back := newPair(b, ""), make([]byte, Size)
	all := pages.Real(b)
	for i := 0; i < len(all); i += stride {
		if object := enc.object(b, all[i]); object != nil {
			objects = append(objects, object)
		}
	}
	for _, p := range pairs(b) {
		b.Run(string(p.set), func(b *testing.B) {
			b.SetBytes(Size)
			for i := 0; b.Loop(); i = (i + stride) % len(objects) {
				if err := p.dec.Decompress(back, objects[i]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
