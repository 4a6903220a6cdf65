// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"

	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/codec/page"
	"github.com/zramfs/zramfs/codec/zstd"
)

// A Decompressor reads the objects of every algorithm that stand for one page. It belongs to one
// worker: it is not safe for concurrent use.
type Decompressor struct {
	page  *page.Decoder      // one worker's
	dense *page.DenseDecoder // one worker's
	lz4   *lz4.Decoder       // one worker's
	zstd  *zstd.Decoder      // one worker's
}

// NewDecompressor makes a decompressor for one worker, with all the memory that it will need. It
// has no dictionary; see [Algorithm.NewDecompressor].
func NewDecompressor() (*Decompressor, error) {
	return Algorithm{kind: kindRaw}.NewDecompressor()
}

// NewDecompressor makes a decompressor for one worker, with all the memory that it will need. It
// reads the objects of every algorithm, but those made with a dictionary only if it is a's; and it
// uses no more than the instruction set that a names. For an Algorithm whose dictionary was not
// given by [Algorithm.WithDictionary] the error wraps [ErrDictionary].
func (a Algorithm) NewDecompressor() (*Decompressor, error) {
	if err := a.checkDictionary(); err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	var d Decompressor
	var err error
	if d.page, err = page.NewDecoder(a.simd); err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	if d.dense, err = page.NewDenseDecoder(a.simd); err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	if d.lz4, err = lz4.NewDecoder(a.simd); err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	if d.zstd, err = zstd.NewDictionaryDecoder(a.dict); err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	return &d, nil
}

// Decompress fills dst, of exactly PageSize bytes (else [ErrPageSize]), with the page that src is
// the object of by codec id. The two buffers must not overlap. When src cannot be such an object,
// or id is no codec's, it returns an error that wraps [ErrCorrupt], and what dst holds then means
// nothing. Whatever src holds, it does not panic and does not write outside dst; but damage may
// pass unnoticed, see the package comment.
//
// For an object made with a dictionary where there is none the error wraps [ErrDictionary] as well;
// where there is another one the object counts as corrupt.
func (d *Decompressor) Decompress(dst []byte, id ID, src []byte) error {
	if len(dst) != PageSize {
		return fmt.Errorf("decompress to %d bytes: %w", len(dst), ErrPageSize)
	}
	switch id {
	case Raw:
		if len(src) != PageSize {
			return fmt.Errorf("decompress raw object of %d bytes: %w", len(src), ErrCorrupt)
		}
		copy(dst, src)
		return nil
	case Page:
		return corrupt(d.page.Decompress(dst, src))
	case PageDense:
		return corrupt(d.dense.Decompress(dst, src))
	case LZ4:
		return corrupt(d.lz4.Decompress(dst, src))
	case Zstd:
		return corrupt(d.zstd.Decompress(dst, src))
	case ZstdDict:
		return corrupt(d.zstd.DecompressDictionary(dst, src))
	default:
		return fmt.Errorf("decompress object of codec %s: %w", id, ErrCorrupt)
	}
}

// corrupt gives an error of a codec this package's sentinel.
func corrupt(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
