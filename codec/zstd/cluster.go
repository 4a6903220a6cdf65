// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// clusterWindow is the window in bytes of a ClusterEncoder. It holds what warm needs, half as much
// again as a cluster.
const clusterWindow = 2 * MaxCluster

// A ClusterEncoder compresses four pages together, one cluster after another: pages that lie side
// by side have much in common, and one set of tables serves them all. It is not safe for concurrent
// use and needs no closing.
type ClusterEncoder struct {
	enc     *zstd.Encoder
	pages   [MaxCluster]byte // the cluster in one piece
	scratch []byte           // length 0, capacity for any frame
}

// NewClusterEncoder returns an encoder for level, [MinLevel] to [MaxLevel], or an error that wraps
// [ErrLevel]. All its memory is made here.
func NewClusterEncoder(level int) (*ClusterEncoder, error) {
	enc, err := newLibraryEncoder(level, clusterWindow, nil)
	if err != nil {
		return nil, err
	}
	e := &ClusterEncoder{enc: enc, scratch: make([]byte, 0, ClusterPages*scratchSize)}
	if err := e.warm(); err != nil {
		return nil, fmt.Errorf("make zstd encoder: %w", err)
	}
	return e, nil
}

// CompressCluster writes the object of four pages, each of [MaxSize] bytes (else [ErrSize]), to dst
// and returns its length in bytes, or 0 when it is longer than dst. With [MaxClusterObject] bytes
// of dst every object fits. Nothing beyond the object is written. Any other error is a defect of
// the library.
//
// The pages are one block. Four blocks with the pages before as their history, where a reader could
// leave out the later ones, take 4 % more bytes and 60 % longer to read in full.
func (e *ClusterEncoder) CompressCluster(dst []byte, pages [ClusterPages][]byte) (n int, err error) {
	for i, page := range pages {
		if len(page) != MaxSize {
			return 0, fmt.Errorf("compress zstd cluster with a page of %d bytes: %w", len(page), ErrSize)
		}
		copy(e.pages[i*MaxSize:], page)
	}
	defer contain(&err)
	object := e.enc.EncodeAll(e.pages[:], e.scratch)[frameHeaderSize(MaxCluster):]
	if len(object) > len(dst) {
		return 0, nil
	}
	return copy(dst, object), nil
}

// DecompressCluster fills dst, of [MaxSize] bytes (else [ErrSize]), with page number index, 0 to 3
// (else [ErrIndex]), of the cluster whose object is src. Errors and promises are those of
// [Decoder.Decompress].
func (d *Decoder) DecompressCluster(dst []byte, index int, src []byte) error {
	if len(dst) != MaxSize {
		return fmt.Errorf("decompress zstd cluster to %d bytes: %w", len(dst), ErrSize)
	}
	if index < 0 || index >= ClusterPages {
		return fmt.Errorf("decompress page %d of a zstd cluster: %w", index, ErrIndex)
	}
	out, err := d.decode(src, MaxCluster, nil)
	if err != nil {
		return err
	}
	copy(dst, out[index*MaxSize:])
	return nil
}
