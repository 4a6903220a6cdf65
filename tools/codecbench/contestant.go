// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/minio/minlz"
	"github.com/pierrec/lz4/v4"
)

// A contestant compresses the pages of a batch and brings them back.
type contestant struct {
	name string
	// ours is whether it is one of our codecs, and block whether its objects are LZ4 blocks, those
	// with the ID for it if ours. A reader only decompresses: what it packs is liblz4's.
	ours, block, reader bool
	// pack and unpack do all pages of a batch; they are what is timed.
	pack, unpack func(b *batch) error
	// settle, if there is one, brings objects that pack left elsewhere to their slots. It is not
	// timed.
	settle func(b *batch)
	// packOne and unpackOne do one page of it; nil where that is not possible without cgo.
	packOne, unpackOne func(b *batch, i int) error
	// decode reads one LZ4 block; nil for the codecs of others.
	decode func(page, object []byte) error
}

// pagewise makes a contestant of functions for one page. compress writes its result to dst.
func pagewise(name string, compress func(dst, page []byte) (int, error), decompress func(dst, object []byte) error) *contestant {
	c := &contestant{name: name}
	c.packOne = func(b *batch, i int) error {
		n, err := compress(b.slot(i), b.page(i))
		b.lengths[i] = int32(n)
		return err
	}
	c.unpackOne = func(b *batch, i int) error { return decompress(b.back(i), b.object(i)) }
	c.pack, c.unpack = each("compress", c.packOne), each("decompress", c.unpackOne)
	return c
}

// each makes a function over a batch of one over a page.
func each(verb string, one func(b *batch, i int) error) func(b *batch) error {
	return func(b *batch) error {
		for i := range b.n {
			if err := one(b, i); err != nil {
				return fmt.Errorf("%s page %d of the batch: %w", verb, i, err)
			}
		}
		return nil
	}
}

// anchor is liblz4 as it comes.
func anchor() *contestant {
	return &contestant{
		name: anchorName, block: true,
		pack:   func(b *batch) error { return libCompress(b, nil) },
		unpack: func(b *batch) error { return libDecompress(b, nil) },
	}
}

// reading returns c's decoder over liblz4's objects.
func reading(c *contestant) *contestant {
	one := func(b *batch, i int) error { return c.decode(b.back(i), b.object(i)) }
	return &contestant{
		name: c.name + " of " + anchorName, reader: true,
		pack:   func(b *batch) error { return libCompress(b, nil) },
		unpack: each("decompress", one), unpackOne: one,
	}
}

// others returns the contestants other than liblz4 and ours.
func others() ([]*contestant, error) {
	all := []*contestant{
		pagewise("memcpy", func(dst, page []byte) (int, error) { return copy(dst, page), nil },
			func(dst, object []byte) error { copy(dst, object); return nil }),
		pierrec(),
		pagewise("klauspost s2", func(dst, page []byte) (int, error) { return len(s2.Encode(dst, page)), nil },
			func(dst, object []byte) error { _, err := s2.Decode(dst, object); return err }),
		pagewise("klauspost snappy", func(dst, page []byte) (int, error) { return len(s2.EncodeSnappy(dst, page)), nil },
			func(dst, object []byte) error { _, err := s2.Decode(dst, object); return err }),
		pagewise("minio minlz L1",
			func(dst, page []byte) (int, error) {
				object, err := minlz.Encode(dst, page, minlz.LevelFastest)
				return len(object), err
			},
			func(dst, object []byte) error { _, err := minlz.Decode(dst, object); return err }),
	}
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault} {
		c, err := klauspost(level)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// pierrec answers 0 for a page that does not become smaller; it is then stored as it is.
func pierrec() *contestant {
	var compressor lz4.Compressor
	c := pagewise("pierrec lz4", func(dst, page []byte) (int, error) {
		n, err := compressor.CompressBlock(page, dst)
		if n == 0 && err == nil {
			n = copy(dst, page)
		}
		return n, err
	}, func(dst, object []byte) error {
		if len(object) == len(dst) {
			copy(dst, object)
			return nil
		}
		_, err := lz4.UncompressBlock(object, dst)
		return err
	})
	return c
}

func klauspost(level zstd.EncoderLevel) (*contestant, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("make zstd encoder: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	return pagewise("klauspost zstd "+level.String(),
		func(dst, page []byte) (int, error) { return len(encoder.EncodeAll(page, dst[:0])), nil },
		func(dst, object []byte) error { _, err := decoder.DecodeAll(object, dst[:0]); return err }), nil
}

// named returns those contestants whose name has one of the words in it; without words, all.
func named(all []*contestant, words []string) []*contestant {
	if len(words) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(c *contestant) bool { return !matches(c.name, words) })
}
