// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/codec"
)

// clusterSuffix marks those that compress codec.ClusterPages pages together.
const clusterSuffix = " clusters"

// clustered returns the contestant that compresses neighbours of the batch together by algorithm,
// nil if it has no clusters. Every page is read back alone, at the cost that this has for a reader.
// Pages that gain nothing together are stored one by one.
func clustered(algorithm codec.Algorithm, single *contestant) (*contestant, error) {
	compressor, err := algorithm.NewClusterCompressor()
	if errors.Is(err, codec.ErrNoCluster) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	decompressor, err := algorithm.NewClusterDecompressor()
	if err != nil {
		return nil, err
	}
	g := groups{compressor, decompressor, single}
	return &contestant{
		name: algorithm.String() + clusterSuffix, ours: true,
		pack: g.pack, unpack: each("decompress", g.unpackOne), settle: single.settle,
	}, nil
}

// groups compresses each full group of pages of a batch. The object lies from the first page's slot
// on; the lengths of the others are 0.
type groups struct {
	compressor   codec.ClusterCompressor
	decompressor *codec.ClusterDecompressor
	single       *contestant
}

func (g groups) pack(b *batch) error {
	for i := 0; i < b.n; i += codec.ClusterPages {
		together := false
		if i+codec.ClusterPages <= b.n {
			var err error
			if together, err = g.packGroup(b, i); err != nil {
				return fmt.Errorf("compress pages from %d of the batch on: %w", i, err)
			}
		}
		for j := i; !together && j < min(i+codec.ClusterPages, b.n); j++ {
			if err := g.single.packOne(b, j); err != nil {
				return fmt.Errorf("compress page %d of the batch: %w", j, err)
			}
		}
	}
	return nil
}

// packGroup compresses the pages from i on and reports whether that gained anything.
func (g groups) packGroup(b *batch, i int) (bool, error) {
	var pages [codec.ClusterPages][]byte
	for j := range pages {
		pages[j] = b.page(i + j)
	}
	id, n, err := g.compressor.CompressCluster(b.slots[i*slotSize:(i+codec.ClusterPages)*slotSize], pages)
	if err != nil || id == codec.None {
		return false, err
	}
	for j := range pages {
		b.ids[i+j], b.lengths[i+j] = id, 0
	}
	b.lengths[i] = int32(n)
	return true, nil
}

func (g groups) unpackOne(b *batch, i int) error {
	switch b.ids[i] {
	case codec.PageDenseCluster:
		first := i / codec.ClusterPages * codec.ClusterPages
		object := b.slots[first*slotSize:][:b.lengths[first]]
		return g.decompressor.DecompressCluster(b.back(i), b.ids[i], i-first, object)
	default:
		return g.single.unpackOne(b, i)
	}
}
