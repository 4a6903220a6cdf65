// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/pagescan"
	"github.com/zramfs/zramfs/internal/pages"
)

// eachBench runs f as a sub-benchmark of each algorithm and source of pages. Same-filled pages are
// left out: the store does not compress them, and they would flatter every figure.
func eachBench(b *testing.B, f func(b *testing.B, w *worker, base [][]byte)) {
	b.Helper()
	sources := []struct {
		name  string
		pages func(testing.TB) [][]byte
	}{
		{"real", pages.Real},
		{"generated", func(testing.TB) [][]byte { return codectest.Generated() }},
	}
	for _, source := range sources {
		b.Run(source.name, func(b *testing.B) {
			base := slices.DeleteFunc(slices.Clone(source.pages(b)), func(page []byte) bool {
				_, same := pagescan.SameFilled(page)
				return same
			})
			for _, name := range compressing() {
				b.Run(name, func(b *testing.B) { f(b, newWorker(b, name), base) })
			}
		})
	}
}

// reportRatio reports the bytes of all pages over those of their objects, whichever pages the loop
// came to.
func reportRatio(b *testing.B, w *worker, base [][]byte) {
	b.Helper()
	in, out := 0, 0
	for i := 0; i < len(base); i += 1 + len(base)/5000 {
		_, n, err := w.c.Compress(w.object[:], base[i])
		if err != nil {
			b.Fatal(err)
		}
		in, out = in+PageSize, out+n
	}
	b.ReportMetric(float64(in)/float64(out), "ratio")
}

func BenchmarkCompress(b *testing.B) {
	eachBench(b, func(b *testing.B, w *worker, base [][]byte) {
		b.SetBytes(PageSize)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, _, err := w.c.Compress(w.object[:], base[i%len(base)]); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		reportRatio(b, w, base)
	})
}

func BenchmarkDecompress(b *testing.B) {
	eachBench(b, func(b *testing.B, w *worker, base [][]byte) {
		var objects []stored
		for i := 0; i < len(base); i += 1 + len(base)/5000 {
			id, object, err := w.compress(base[i])
			if err != nil {
				b.Fatal(err)
			}
			objects = append(objects, stored{id, slices.Clone(object)})
		}
		b.SetBytes(PageSize)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s := objects[i%len(objects)]
			if err := w.d.Decompress(w.back[:], s.id, s.object); err != nil {
				b.Fatal(err)
			}
		}
	})
}
