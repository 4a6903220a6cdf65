// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// scratchSize is the capacity that an Encoder gives the library to write a frame to. The library writes a block in full
// before it sees that the data itself is shorter; a sequence stands for 4 bytes at least and takes 5 at most, so twice a
// page is more than it ever needs and it never has to grow the buffer.
const scratchSize = 2 * MaxSize

// windowSize is the encoder's window in bytes, a power of two. It is not in the frame: a single segment has none of its own.
const windowSize = 2 * MaxSize

// An Encoder compresses buffers one after another. It keeps tables between calls only to save making them again: each
// object depends on its own buffer alone. It is not safe for concurrent use. It holds no goroutine and needs no closing.
type Encoder struct {
	enc     *zstd.Encoder
	scratch []byte // length 0, capacity scratchSize
}

// NewEncoder returns an encoder for level, [MinLevel] to [MaxLevel], or an error that wraps [ErrLevel]. The package comment
// says how much memory it takes, all of which is made here.
func NewEncoder(level int) (*Encoder, error) {
	if level < MinLevel || level > MaxLevel {
		return nil, fmt.Errorf("make zstd encoder of level %d: %w", level, ErrLevel)
	}
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
		zstd.WithEncoderConcurrency(1),
		// A page is one block, and so is the longer input that warm needs.
		zstd.WithWindowSize(windowSize),
		zstd.WithSingleSegment(true),
		zstd.WithEncoderCRC(false),
		zstd.WithAllLitEntropyCompression(true),
		// Without it the buffers are made for blocks of 128 KiB; it is not slower on pages.
		zstd.WithLowerEncoderMem(true),
	)
	if err != nil {
		return nil, fmt.Errorf("make zstd encoder: %w", err)
	}
	e := &Encoder{enc: enc, scratch: make([]byte, 0, scratchSize)}
	if err := e.warm(); err != nil {
		return nil, fmt.Errorf("make zstd encoder: %w", err)
	}
	return e, nil
}

// Compress writes the object of src (1 to [MaxSize] bytes, else [ErrSize]) to dst and returns its length in bytes, or 0
// when the object is longer than dst. With [MaxObject] bytes of dst every object fits. Nothing beyond the object is
// written. The two buffers must not overlap. Any other error is a defect of the library.
func (e *Encoder) Compress(dst, src []byte) (n int, err error) {
	if len(src) == 0 || len(src) > MaxSize {
		return 0, fmt.Errorf("compress zstd block of %d bytes: %w", len(src), ErrSize)
	}
	defer contain(&err)
	frame := e.enc.EncodeAll(src, e.scratch)
	object := frame[frameHeaderSize(len(src)):]
	if len(object) > len(dst) {
		return 0, nil
	}
	return copy(dst, object), nil
}
