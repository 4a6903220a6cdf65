// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// slack is what the library wants behind its output to copy matches in whole 16-byte steps, which is 6 % faster.
const slack = 16

// A Decoder decompresses objects of any level, one after another. It is not safe for concurrent use. It holds no goroutine
// and needs no closing.
type Decoder struct {
	dec *zstd.Decoder
	// frame is where an object gets its frame header back.
	frame [maxFrameHeader + MaxObject]byte
	// out is where the library writes. The caller's buffer is then written once, with exactly the bytes asked for, and
	// nothing depends on what the library does near the end of its output.
	out [MaxSize + slack]byte
}

// NewDecoder returns a decoder. The package comment says how much memory it takes, all of which is made here.
func NewDecoder() (*Decoder, error) {
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(MaxSize),
		zstd.WithDecoderMaxWindow(MaxSize),
	)
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	d := &Decoder{dec: dec}
	if err := d.warm(); err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	return d, nil
}

// Decompress fills dst (1 to [MaxSize] bytes, else [ErrSize]) from the object src. It returns an error that wraps
// [ErrCorrupt], and leaves dst as it was, when src is not a block of exactly len(dst) bytes; it never panics, never
// writes outside dst, and takes no memory that src asks for, whatever src holds.
func (d *Decoder) Decompress(dst, src []byte) error {
	if len(dst) == 0 || len(dst) > MaxSize {
		return fmt.Errorf("decompress zstd block to %d bytes: %w", len(dst), ErrSize)
	}
	if !soleBlock(src, len(dst)) {
		return fmt.Errorf("decompress zstd block of %d bytes: %w", len(src), ErrCorrupt)
	}
	out, err := d.decode(src, len(dst))
	if err != nil {
		return fmt.Errorf("decompress zstd block of %d bytes: %w: %w", len(src), ErrCorrupt, err)
	}
	if len(out) != len(dst) {
		return fmt.Errorf("decompress zstd block of %d bytes: %d bytes came out, not %d: %w", len(src), len(out), len(dst), ErrCorrupt)
	}
	copy(dst, out)
	return nil
}

// decode gives object its frame header back and runs the library over it. The result lies in d.out.
func (d *Decoder) decode(object []byte, n int) (out []byte, err error) {
	defer contain(&err)
	header := putFrameHeader((*[maxFrameHeader]byte)(d.frame[:]), n)
	end := header + copy(d.frame[header:], object)
	return d.dec.DecodeAll(d.frame[:end], d.out[:0])
}
