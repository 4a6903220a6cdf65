// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/codec/page"
	"github.com/zramfs/zramfs/codec/zstd"
)

// ClusterPages is how many pages are compressed together into a cluster's object.
const ClusterPages = zstd.ClusterPages

// maxCluster is the length in bytes of the longest object of a cluster that is kept, by the rule
// for pages.
const maxCluster = ClusterPages * maxObject

// ErrNoCluster reports an Algorithm that cannot compress pages together.
var ErrNoCluster = errors.New("algorithm has no clusters")

// ErrIndex reports a number that no page of a cluster has.
var ErrIndex = errors.New("page numbers in a cluster are 0 to 3")

// A ClusterCompressor turns ClusterPages pages, best neighbours, into one object; any page of it
// can be read back alone. That object is smaller than the pages' own together, by 5 % with
// page:dense on real pages, and reading a page of it takes as long as reading up to four pages: it
// is for cold pages. It belongs to one worker and allocates nothing after it is made.
type ClusterCompressor interface {
	// CompressCluster writes the object of pages, each of PageSize bytes (else [ErrPageSize]), to
	// dst and returns its codec and its length in bytes. Where nothing is gained, or the object is
	// longer than dst, the codec is [None]: the pages are best stored one by one. Nothing is
	// written beyond the length of dst, whose contents mean nothing without an object. The pages
	// must not change during the call and must not overlap dst. Any other error is a defect in a
	// compression library.
	CompressCluster(dst []byte, pages [ClusterPages][]byte) (ID, int, error)
}

// clusterMakers holds what makes the cluster compressor of each kind that has one.
var clusterMakers = [kinds]func(Algorithm) (ClusterCompressor, error){
	kindPageDense: newDenseCluster,
	kindZstd:      newZstdCluster,
}

// NewClusterCompressor makes a cluster compressor for one worker. For an Algorithm without one the
// error wraps [ErrNoCluster].
func (a Algorithm) NewClusterCompressor() (ClusterCompressor, error) {
	if clusterMakers[a.kind] == nil {
		return nil, fmt.Errorf("make cluster compressor %s: %w", a, ErrNoCluster)
	}
	c, err := clusterMakers[a.kind](a)
	if err != nil {
		return nil, fmt.Errorf("make cluster compressor %s: %w", a, err)
	}
	return c, nil
}

// A clusterEncoder is what the codecs' packages have in common.
type clusterEncoder interface {
	// CompressCluster writes the object of pages to dst and returns its length, or 0 if it does not
	// fit.
	CompressCluster(dst []byte, pages [ClusterPages][]byte) (int, error)
}

// clusters makes clusters by one codec.
type clusters struct {
	id  ID             // immutable
	enc clusterEncoder // one worker's
}

// newZstdCluster leaves a dictionary out: four pages are nearly one for themselves, and an object
// that needs none can always be read.
func newZstdCluster(a Algorithm) (ClusterCompressor, error) {
	enc, err := zstd.NewClusterEncoder(int(a.level))
	if err != nil {
		return nil, err
	}
	return &clusters{id: ZstdCluster, enc: enc}, nil
}

func newDenseCluster(a Algorithm) (ClusterCompressor, error) {
	enc, err := page.NewClusterEncoder(a.simd)
	if err != nil {
		return nil, err
	}
	return &clusters{id: PageDenseCluster, enc: enc}, nil
}

func (c *clusters) CompressCluster(dst []byte, pages [ClusterPages][]byte) (ID, int, error) {
	for _, page := range pages {
		if len(page) != PageSize {
			return None, 0, fmt.Errorf("compress cluster with a page of %d bytes: %w", len(page), ErrPageSize)
		}
	}
	n, err := c.enc.CompressCluster(dst[:min(len(dst), maxCluster)], pages)
	if err != nil {
		return None, 0, fmt.Errorf("compress cluster by %s: %w", c.id, err)
	}
	if n == 0 {
		return None, 0, nil
	}
	return c.id, n, nil
}

// A ClusterDecompressor reads the objects of every ClusterCompressor. Its memory is apart
// from a Decompressor's, so that only readers of clusters pay for it. It belongs to one worker: it
// is not safe for concurrent use.
type ClusterDecompressor struct {
	dense *page.ClusterDecoder // one worker's
	zstd  *zstd.Decoder        // one worker's
}

// NewClusterDecompressor makes a decompressor of clusters for one worker, with all the memory that
// it will need. It uses no more than the instruction set that a names.
func (a Algorithm) NewClusterDecompressor() (*ClusterDecompressor, error) {
	dense, err := page.NewClusterDecoder(a.simd)
	if err != nil {
		return nil, fmt.Errorf("make cluster decompressor: %w", err)
	}
	blocks, err := zstd.NewDecoder()
	if err != nil {
		return nil, fmt.Errorf("make cluster decompressor: %w", err)
	}
	return &ClusterDecompressor{dense: dense, zstd: blocks}, nil
}

// DecompressCluster fills dst, of exactly PageSize bytes (else [ErrPageSize]), with page number
// index (else [ErrIndex]) of the cluster that src is the object of by codec id. It promises the
// same as [Decompressor.Decompress].
func (d *ClusterDecompressor) DecompressCluster(dst []byte, id ID, index int, src []byte) error {
	if len(dst) != PageSize {
		return fmt.Errorf("decompress to %d bytes: %w", len(dst), ErrPageSize)
	}
	if index < 0 || index >= ClusterPages {
		return fmt.Errorf("decompress page %d of a cluster: %w", index, ErrIndex)
	}
	switch id {
	case PageDenseCluster:
		return corrupt(d.dense.DecompressCluster(dst, index, src))
	case ZstdCluster:
		return corrupt(d.zstd.DecompressCluster(dst, index, src))
	default:
		return fmt.Errorf("decompress cluster of codec %s: %w", id, ErrCorrupt)
	}
}
