// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"

	"zramfs/codec/lz4"
	"zramfs/codec/zstd"
)

// A Decompressor reads the objects of every algorithm. It belongs to one worker: it is not safe for concurrent use.
type Decompressor struct {
	zstd *zstd.Decoder // one worker's
}

// NewDecompressor makes a decompressor for one worker, with all the memory that it will need.
func NewDecompressor() (*Decompressor, error) {
	dec, err := zstd.NewDecoder()
	if err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	return &Decompressor{zstd: dec}, nil
}

// Decompress fills dst, of exactly PageSize bytes (else [ErrPageSize]), with the page that src is the object of by codec id.
// The two buffers must not overlap. When src cannot be such an object, or id is no codec's, it returns an error that wraps
// [ErrCorrupt], and what dst holds then means nothing. Whatever src holds, it does not panic and does not write outside
// dst; but damage may pass unnoticed, see the package comment.
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
	case LZ4:
		return corrupt(lz4.Decompress(dst, src))
	case Zstd:
		return corrupt(d.zstd.Decompress(dst, src))
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
