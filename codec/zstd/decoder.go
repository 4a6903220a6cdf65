// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// slack is what the library wants behind its output to copy matches in whole 16-byte steps, which
// is 6 % faster.
const slack = 16

// A Decoder decompresses objects of any level, one after another. It is not
// safe for concurrent use. It holds no goroutine and needs no closing.
type Decoder struct {
	dec  *zstd.Decoder
	dict *Dictionary // or nil; immutable
	// frame is where an object gets its frame header back.
	frame [maxFrameHeader + MaxObject]byte
	// out is where the library writes. The caller's buffer is then written once, with exactly the
	// bytes asked for, and nothing depends on what the library does near the end of its output.
	out [MaxSize + slack]byte
}

// NewDecoder returns a decoder without a dictionary. It makes all of its memory here;
// the package comment says how much.
func NewDecoder() (*Decoder, error) { return NewDictionaryDecoder(nil) }

// NewDictionaryDecoder returns a decoder that can read the objects of a dictionary as well; dict
// may be nil.
func NewDictionaryDecoder(dict *Dictionary) (*Decoder, error) {
	options := []zstd.DOption{
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		// The library writes to no more than the size asked for and the slack.
		zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(MaxSize),
		zstd.WithDecoderMaxWindow(MaxSize),
	}
	if dict != nil {
		options = append(options, zstd.WithDecoderDicts(dict.data))
	}
	dec, err := zstd.NewReader(nil, options...)
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	d := &Decoder{dec: dec, dict: dict}
	if err := d.warm(); err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	return d, nil
}

// Decompress fills dst (1 to [MaxSize] bytes, else [ErrSize]) from the object src, made without a
// dictionary. It returns an error that wraps [ErrCorrupt], and leaves dst as it was, when src is
// not a block of exactly len(dst) bytes; it never panics, never writes outside dst, and takes no
// memory that src asks for, whatever src holds.
func (d *Decoder) Decompress(dst, src []byte) error {
	if len(dst) == 0 || len(dst) > MaxSize {
		return fmt.Errorf("decompress zstd block to %d bytes: %w", len(dst), ErrSize)
	}
	out, err := d.decode(src, len(dst), nil)
	if err != nil {
		return err
	}
	copy(dst, out)
	return nil
}

// DecompressDictionary is [Decoder.Decompress] for an object that was made with the decoder's
// dictionary. Where the decoder has none the error wraps [ErrDictionary]; an object of another
// dictionary is, but for 1 in 4 million pairs of dictionaries, an error that wraps [ErrCorrupt].
func (d *Decoder) DecompressDictionary(dst, src []byte) error {
	if len(dst) == 0 || len(dst) > MaxSize {
		return fmt.Errorf("decompress zstd block to %d bytes: %w", len(dst), ErrSize)
	}
	if d.dict == nil {
		return fmt.Errorf("decompress zstd block: %w: the block was made with one and there is none", ErrDictionary)
	}
	out, err := d.decode(src, len(dst), d.dict)
	if err != nil {
		return fmt.Errorf("%w, or made with another dictionary", err)
	}
	copy(dst, out)
	return nil
}

// decode returns the n bytes that object stands for. They lie in d.out and are valid until the next
// call.
func (d *Decoder) decode(object []byte, n int, dict *Dictionary) ([]byte, error) {
	if len(object) < blockHeaderSize || len(object) > MaxObject {
		return nil, fmt.Errorf("decompress zstd block of %d bytes: %w", len(object), ErrCorrupt)
	}
	header := putFrameHeader((*[maxFrameHeader]byte)(d.frame[:]), n, dict)
	block := d.frame[header : header+copy(d.frame[header:], object)]
	if dict != nil {
		dict.seal(block)
	}
	if !soleBlock(block, n) {
		return nil, fmt.Errorf("decompress zstd block of %d bytes: %w", len(object), ErrCorrupt)
	}
	out, err := d.run(d.frame[:header+len(block)], n)
	if err != nil {
		return nil, fmt.Errorf("decompress zstd block of %d bytes: %w: %w", len(object), ErrCorrupt, err)
	}
	if len(out) != n {
		return nil, fmt.Errorf("decompress zstd block of %d bytes: %d bytes came out, not %d: %w", len(object), len(out), n, ErrCorrupt)
	}
	return out, nil
}

// run has the library decompress a frame of n bytes.
func (d *Decoder) run(frame []byte, n int) (out []byte, err error) {
	defer contain(&err)
	return d.dec.DecodeAll(frame, d.out[:0:n+slack])
}
