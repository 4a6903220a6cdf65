// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/internal/pages"
)

// benchPages returns real pages to measure with, and others next to them to train with.
func benchPages(b *testing.B) (measured, training [][]byte) {
	for i, page := range pages.Real(b) {
		switch {
		case len(slices.Compact(slices.Clone(page))) == 1: // one byte repeated: no device compresses it
		case i/64%8 == 0:
			measured = append(measured, page)
		case i/64%8 == 4:
			training = append(training, page)
		}
	}
	return measured, training
}

// BenchmarkLevels compares the levels, each without and with a dictionary.
func BenchmarkLevels(b *testing.B) {
	base, training := benchPages(b)
	dict := trained(b, training)
	for _, level := range []int{1, 3, 6, 10} {
		for _, with := range []*Dictionary{nil, dict} {
			name := fmt.Sprint("level", level)
			enc, err := NewDictionaryEncoder(level, with)
			if err != nil {
				b.Fatal(err)
			}
			dec, err := NewDictionaryDecoder(with)
			if err != nil {
				b.Fatal(err)
			}
			if with != nil {
				name += "/dictionary"
			}
			benchPair(b, name, enc, dec, base)
		}
	}
}

// benchPair measures one way and the other.
func benchPair(b *testing.B, name string, enc *Encoder, dec *Decoder, base [][]byte) {
	object, page := make([]byte, MaxObject), make([]byte, MaxSize)
	b.Run(name+"/compress", func(b *testing.B) {
		b.SetBytes(MaxSize)
		bytes := 0
		for i := 0; b.Loop(); i++ {
			n, err := enc.Compress(object, base[i%len(base)])
			if err != nil {
				b.Fatal(err)
			}
			bytes += min(n, MaxSize)
		}
		b.ReportMetric(float64(b.N*MaxSize)/float64(bytes), "ratio")
	})
	b.Run(name+"/decompress", func(b *testing.B) {
		var objects [][]byte
		for i := 0; i < len(base); i += 1 + len(base)/1000 {
			n, err := enc.Compress(object, base[i])
			if err != nil {
				b.Fatal(err)
			}
			objects = append(objects, slices.Clone(object[:n]))
		}
		read := dec.Decompress
		if enc.dict != nil {
			read = dec.DecompressDictionary
		}
		b.SetBytes(MaxSize)
		for i := 0; b.Loop(); i++ {
			if err := read(page, objects[i%len(objects)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
