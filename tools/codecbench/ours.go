// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/codec"
)

// expected lists the algorithms to measure; one that this version does not know is reported, since
// a table without it would look complete. Further ones come from package codec.
var expected = []string{"lz4", "lz4:fast", "page", "page:dense", "zstd", "adaptive", "adaptive:entropy"}

// ours returns a contestant for every implementation of every algorithm of ours that compresses,
// and writes to notes what it left out and why.
func ours(notes io.Writer) ([]*contestant, error) {
	for _, name := range expected {
		if _, err := codec.Parse(name); err != nil {
			fmt.Fprintf(notes, "left out %s: %v\n", name, err)
		}
	}
	for _, set := range codec.InstructionSets().Detected {
		if !slices.Contains(codec.InstructionSets().Usable, set) {
			fmt.Fprintf(notes, "left out what needs %s: switched off\n", set)
		}
	}
	var all []*contestant
	for _, algorithm := range codec.Comparable() {
		if algorithm.String() == "raw" {
			continue
		}
		for _, variant := range algorithm.Variants() {
			some, err := forms(variant)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", variant.Algorithm, err)
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// forms returns the ways in which one implementation takes part.
func forms(variant codec.Variant) ([]*contestant, error) {
	c, err := own(variant.Algorithm)
	if err != nil {
		return nil, err
	}
	all := []*contestant{c}
	if variant.Name == "lz4" {
		all = append(all, reading(c))
	}
	together, err := clustered(variant.Algorithm, c)
	if together != nil {
		all = append(all, together)
	}
	return all, err
}

// own makes the contestant of one of our algorithms.
func own(algorithm codec.Algorithm) (*contestant, error) {
	compressor, err := algorithm.NewCompressor()
	if err != nil {
		return nil, err
	}
	decompressor, err := algorithm.NewDecompressor()
	if err != nil {
		return nil, err
	}
	name := algorithm.String()
	c := &contestant{name: name, ours: true, block: strings.HasPrefix(name, "lz4")}
	c.packOne = func(b *batch, i int) error {
		id, n, err := compressor.Compress(b.slot(i), b.page(i))
		b.ids[i], b.lengths[i] = id, int32(n)
		return err
	}
	c.unpackOne = func(b *batch, i int) error { return decompressor.Decompress(b.back(i), b.ids[i], b.object(i)) }
	c.decode = func(page, object []byte) error { return decompressor.Decompress(page, codec.LZ4, object) }
	c.pack, c.unpack = each("compress", c.packOne), each("decompress", c.unpackOne)
	// The caller of a Compressor stores a raw page from where it lies.
	c.settle = func(b *batch) {
		for i, id := range b.ids[:b.n] {
			if id == codec.Raw {
				copy(b.slot(i), b.page(i))
			}
		}
	}
	return c, nil
}

// matches reports whether name has one of the words in it.
func matches(name string, words []string) bool {
	for _, word := range words {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
