// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"errors"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// MaxSize is the largest number of bytes that one object can stand for: a page.
const MaxSize = 4096

// MaxObject is the size in bytes of a destination that the object of any buffer of up to [MaxSize] bytes fits in.
// The format adds at most a byte for each 255 literals, and the library wants 16 to spare.
const MaxObject = MaxSize + MaxSize/255 + 16

var (
	// ErrSize reports a buffer to compress, or to decompress into, that is empty or larger than [MaxSize].
	ErrSize = errors.New("buffer is not of 1 to 4096 bytes")
	// ErrCorrupt reports an object that is no LZ4 block, or one of another length than the buffer asked for.
	ErrCorrupt = errors.New("corrupt lz4 block")
)

// An Encoder compresses buffers one after another. It keeps a table between calls only to save making it again: each
// object depends on its own buffer alone. The zero value is ready. It is not safe for concurrent use.
type Encoder struct {
	c lz4.Compressor
}

// Compress writes the object of src (1 to [MaxSize] bytes, else [ErrSize]) to dst and returns its length in bytes.
// The length of dst is the cap on the object: where the object would be longer, Compress stops as soon as it knows and
// returns 0, and what it left in dst means nothing. With [MaxObject] bytes of dst every object fits. Nothing beyond
// len(dst) is written, whatever its capacity. The two buffers must not overlap.
func (e *Encoder) Compress(dst, src []byte) (int, error) {
	if len(src) == 0 || len(src) > MaxSize {
		return 0, fmt.Errorf("compress lz4 block of %d bytes: %w", len(src), ErrSize)
	}
	// The library has two ways to say that the object does not fit: an error when it ran into the end of dst, and no
	// error with a length of 0 when it saw before the last literals that nothing was gained. It has no other error.
	n, err := e.c.CompressBlock(src, dst)
	if err != nil {
		return 0, nil
	}
	return n, nil
}

// Decompress fills dst (1 to [MaxSize] bytes, else [ErrSize]) from the object src. It returns an error that wraps
// [ErrCorrupt], and leaves anything in dst, when src is not a block of exactly len(dst) bytes; it never panics and never
// writes outside dst, whatever src holds. It keeps no state, so any number of goroutines may call it.
func Decompress(dst, src []byte) error {
	if len(dst) == 0 || len(dst) > MaxSize {
		return fmt.Errorf("decompress lz4 block to %d bytes: %w", len(dst), ErrSize)
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return fmt.Errorf("decompress lz4 block of %d bytes: %w", len(src), ErrCorrupt)
	}
	if n != len(dst) {
		return fmt.Errorf("decompress lz4 block of %d bytes: %d bytes came out, not %d: %w", len(src), n, len(dst), ErrCorrupt)
	}
	return nil
}
