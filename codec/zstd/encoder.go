// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// scratchSize is the capacity that an Encoder gives the library to write a frame to. The library
// writes a block in full before it sees that the data itself is shorter; a sequence stands for 4
// bytes at least and takes 5 at most, so twice a page is more than it ever needs and it never has
// to grow the buffer.
const scratchSize = 2 * MaxSize

// windowSize is the encoder's window in bytes, a power of two. It is not in the frame: a single
// segment has none of its own.
const windowSize = 2 * MaxSize

// An Encoder compresses buffers one after another. It keeps tables between calls only to save
// making them again: each object depends on its own buffer, and dictionary, alone. It is not safe
// for concurrent use. It holds no goroutine and needs no closing.
type Encoder struct {
	enc     *zstd.Encoder
	dict    *Dictionary // or nil; immutable
	scratch []byte      // length 0, capacity scratchSize
}

// NewEncoder returns an encoder for level, [MinLevel] to [MaxLevel], or an error that wraps
// [ErrLevel]. It makes all of its memory here; the package comment says how much.
func NewEncoder(level int) (*Encoder, error) { return NewDictionaryEncoder(level, nil) }

// NewDictionaryEncoder is [NewEncoder] with a dictionary, or without one if dict is nil. Objects
// made with a dictionary can be read only by [Decoder.DecompressDictionary], with the same one.
func NewDictionaryEncoder(level int, dict *Dictionary) (*Encoder, error) {
	e := &Encoder{dict: dict, scratch: make([]byte, 0, scratchSize)}
	window := windowSize
	if dict != nil {
		// The library finds nothing that is further back than its window, so that has to hold the
		// dictionary too.
		for window < dict.Size()+MaxSize {
			window *= 2
		}
	}
	var err error
	if e.enc, err = newLibraryEncoder(level, window, dict); err != nil {
		return nil, err
	}
	if err := e.warm(); err != nil {
		return nil, fmt.Errorf("make zstd encoder: %w", err)
	}
	return e, nil
}

// newLibraryEncoder returns an encoder for inputs that fit in a window.
func newLibraryEncoder(level, window int, dict *Dictionary) (*zstd.Encoder, error) {
	if level < MinLevel || level > MaxLevel {
		return nil, fmt.Errorf("make zstd encoder of level %d: %w", level, ErrLevel)
	}
	options := []zstd.EOption{
		zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
		zstd.WithEncoderConcurrency(1),
		// A page is one block, and so is the longer input that warm needs.
		zstd.WithWindowSize(window),
		zstd.WithSingleSegment(true),
		zstd.WithEncoderCRC(false),
		zstd.WithAllLitEntropyCompression(true),
		// Without it the buffers are made for blocks of 128 KiB; it is not slower on pages.
		zstd.WithLowerEncoderMem(true),
	}
	if dict != nil {
		options = append(options, zstd.WithEncoderDict(dict.data))
	}
	enc, err := zstd.NewWriter(nil, options...)
	if err != nil {
		return nil, fmt.Errorf("make zstd encoder: %w", err)
	}
	return enc, nil
}

// Compress writes the object of src (1 to [MaxSize] bytes, else [ErrSize]) to dst and returns its
// length in bytes, or 0 when the object is longer than dst. With [MaxObject] bytes of dst every
// object fits. Nothing beyond the object is written. The two buffers must not overlap. Any other
// error is a defect of the library.
func (e *Encoder) Compress(dst, src []byte) (n int, err error) {
	if len(src) == 0 || len(src) > MaxSize {
		return 0, fmt.Errorf("compress zstd block of %d bytes: %w", len(src), ErrSize)
	}
	defer contain(&err)
	frame := e.enc.EncodeAll(src, e.scratch)
	object := frame[e.dict.headerSize(len(src)):]
	if len(object) > len(dst) {
		return 0, nil
	}
	n = copy(dst, object)
	if e.dict != nil {
		e.dict.seal(dst)
	}
	return n, nil
}
