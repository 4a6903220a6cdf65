// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/codec/page"
)

// ClusterPages is how many pages are compressed together into a cluster's object at most.
const ClusterPages = page.ClusterPages

// MaxClusterObject is the length in bytes of the longest object of a cluster that is kept, by
// the rule for pages.
const MaxClusterObject = ClusterPages * maxObject

// ErrNoCluster reports an Algorithm that cannot compress pages together.
var ErrNoCluster = errors.New("algorithm has no clusters")

// ErrIndex reports a number that no page of a cluster has.
var ErrIndex = errors.New("page numbers in a cluster are 0 to 7")

// ErrNoPages reports a cluster without any page.
var ErrNoPages = errors.New("cluster has no pages")

// A ClusterCompressor turns up to ClusterPages pages, best neighbours, into one object; any
// page of it can be read back alone. On true neighbours that object is shorter than the pages'
// own together by a quarter with page:dense. Making it takes thirty times as long, and reading
// a page of it as long as reading up to eight pages: it is for cold pages. It belongs to one
// worker and allocates nothing after it is made.
type ClusterCompressor interface {
	// CompressCluster writes the object of pages to dst and returns its codec and its length
	// in bytes. A nil page is absent: it takes no part and cannot be read. The others have
	// PageSize bytes each, else the error wraps [ErrPageSize]; if all are absent it wraps
	// [ErrNoPages]. Where less than a sixteenth is gained, or the object is longer than dst,
	// the codec is [None]: the pages are best stored one by one. Nothing is written beyond the
	// length of dst, whose contents mean nothing without an object. The pages must not change
	// during the call and must not overlap dst.
	CompressCluster(dst []byte, pages [ClusterPages][]byte) (ID, int, error)
}

// clusterMakers holds what makes the cluster compressor of each kind that has one.
var clusterMakers = [kinds]func(Algorithm) (ClusterCompressor, error){
	kindPageDense: newDenseCluster,
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

// clusters makes clusters at the dense level of package page.
type clusters struct {
	enc *page.ClusterEncoder // one worker's
}

func newDenseCluster(a Algorithm) (ClusterCompressor, error) {
	enc, err := page.NewClusterEncoder(a.simd)
	if err != nil {
		return nil, err
	}
	return &clusters{enc: enc}, nil
}

func (c *clusters) CompressCluster(dst []byte, pages [ClusterPages][]byte) (ID, int, error) {
	present := 0
	for _, page := range pages {
		if page == nil {
			continue
		}
		if len(page) != PageSize {
			return None, 0, fmt.Errorf("compress cluster with a page of %d bytes: %w", len(page), ErrPageSize)
		}
		present++
	}
	if present == 0 {
		return None, 0, fmt.Errorf("compress cluster: %w", ErrNoPages)
	}
	n, err := c.enc.CompressCluster(dst[:min(len(dst), present*maxObject)], pages)
	if err != nil {
		return None, 0, fmt.Errorf("compress cluster by %s: %w", PageDenseCluster, err)
	}
	if n == 0 {
		return None, 0, nil
	}
	return PageDenseCluster, n, nil
}

// A ClusterDecompressor reads the objects of every ClusterCompressor. From the second page of the
// same object on it copies pages that it has decompressed already. Its memory is apart from a
// Decompressor's, so that only readers of clusters pay for it. It belongs to one worker: it is not
// safe for concurrent use.
type ClusterDecompressor struct {
	dense *page.ClusterDecoder // one worker's
	last  [MaxClusterObject + clusterPadding]byte
	n     int // bytes of last that are the last object; 0 for none
}

// clusterPadding is how many bytes of zeros may follow an object.
const clusterPadding = 7

// NewClusterDecompressor makes a decompressor of clusters for one worker, with all the memory that
// it will need. It uses no more than the instruction set that a names.
func (a Algorithm) NewClusterDecompressor() (*ClusterDecompressor, error) {
	dense, err := page.NewClusterDecoder(a.simd)
	if err != nil {
		return nil, fmt.Errorf("make cluster decompressor: %w", err)
	}
	return &ClusterDecompressor{dense: dense}, nil
}

// DecompressCluster fills dst, of exactly PageSize bytes (else [ErrPageSize]), with page
// number index (else [ErrIndex]) of the cluster that src is the object of by codec id. Up to
// seven bytes of zeros may follow the object. A page that is absent is an error that wraps
// [ErrCorrupt]. It promises the same as [Decompressor.Decompress].
func (d *ClusterDecompressor) DecompressCluster(dst []byte, id ID, index int, src []byte) error {
	if len(dst) != PageSize {
		return fmt.Errorf("decompress to %d bytes: %w", len(dst), ErrPageSize)
	}
	if index < 0 || index >= ClusterPages {
		return fmt.Errorf("decompress page %d of a cluster: %w", index, ErrIndex)
	}
	if id != PageDenseCluster {
		return fmt.Errorf("decompress cluster of codec %s: %w", id, ErrCorrupt)
	}
	if d.n != 0 && bytes.Equal(d.last[:d.n], src) {
		return d.again(dst, index, src)
	}
	if d.n = 0; len(src) <= len(d.last) {
		d.n = copy(d.last[:], src)
	}
	return corrupt(d.dense.DecompressCluster(dst, index, src))
}

// again is DecompressCluster for the last object. It decompresses all of it if it did not do so
// before: a caller that reads a second page of it often reads the rest.
func (d *ClusterDecompressor) again(dst []byte, index int, src []byte) error {
	page := d.dense.Page(index)
	if page == nil {
		if err := d.dense.Decode(src); err != nil {
			return corrupt(err)
		}
		page = d.dense.Page(index)
	}
	if page == nil {
		return fmt.Errorf("decompress page %d of a cluster without it: %w", index, ErrCorrupt)
	}
	copy(dst, page)
	return nil
}
