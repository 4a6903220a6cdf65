// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"errors"
	"fmt"
)

// MaxSize is the largest number of bytes that one object can stand for: a page.
const MaxSize = 4096

// MaxObject is the size in bytes of a destination that the object of any buffer of up to [MaxSize]
// bytes fits in. The format adds at most a byte for each 255 literals and a token; the rest lets
// the encoder write more than it needs to.
const MaxObject = MaxSize + MaxSize/255 + slack

// slack is how much space behind a sequence's literals lets the assembly write it without looking:
// 1 byte of token, 2 of distance, 17 for each length that a page can have, and what copies write
// too much. codec/_asm/lz4 knows it as well.
const slack = 64

var (
	// ErrSize reports a buffer to compress, or to decompress into, that is empty or larger than
	// [MaxSize].
	ErrSize = errors.New("buffer is not of 1 to 4096 bytes")
	// ErrCorrupt reports an object that is no LZ4 block, or one of another length than the buffer
	// asked for.
	ErrCorrupt = errors.New("corrupt lz4 block")
)

// encodeFunc writes the object of src to dst and returns its length, 0 if it does not fit. The
// table may hold anything before.
type encodeFunc func(dst, src []byte, t *table) int

// decodeFunc fills dst from the object src and reports whether it could.
type decodeFunc func(dst, src []byte) bool

// routines is what one instruction set has.
type routines struct {
	standard, fast encodeFunc
	decode         decodeFunc
}

// best is this machine's implementation. It is chosen at start and never written again.
var best = routinesTable.Best().F

// Sets returns the instruction sets that there is code for on this architecture, the fastest first
// and "generic" last, whether this machine has them or not. The caller may keep and change the
// slice.
func Sets() []Set {
	var sets []Set
	for _, e := range routinesTable {
		sets = append(sets, e.Set)
	}
	return sets
}

// Options say what kind of [Encoder] to make.
type Options struct {
	// Fast looks for matches at every fourth byte only: it takes three quarters of the time and
	// makes objects one sixth longer.
	Fast bool
	// SIMD is the most that the encoder may use of this machine's instructions; empty for the best.
	// It does not change the objects.
	SIMD Set
}

// An Encoder compresses buffers one after another. It keeps a table between calls only to save
// making it again: each object depends on its own buffer alone. The zero value is ready. It is not
// safe for concurrent use.
type Encoder struct {
	encode encodeFunc // immutable; nil for the best standard one
	table  table      // the worker's
}

// NewEncoder makes an encoder for one worker. An instruction set that may not be used here is an
// error that wraps [ErrUnavailable].
func NewEncoder(o Options) (*Encoder, error) {
	e, err := routinesTable.For(o.SIMD)
	if err != nil {
		return nil, fmt.Errorf("make lz4 encoder: %w", err)
	}
	if o.Fast {
		return &Encoder{encode: e.F.fast}, nil
	}
	return &Encoder{encode: e.F.standard}, nil
}

// Compress writes the object of src (1 to [MaxSize] bytes, else [ErrSize]) to dst and returns its
// length in bytes. The length of dst is the cap on the object: where the object would be longer,
// Compress stops as soon as it knows and returns 0, and what it left in dst means nothing. With
// [MaxObject] bytes of dst every object fits. Nothing beyond len(dst) is written, whatever its
// capacity. The two buffers must not overlap.
func (e *Encoder) Compress(dst, src []byte) (int, error) {
	if len(src) == 0 || len(src) > MaxSize {
		return 0, fmt.Errorf("compress lz4 block of %d bytes: %w", len(src), ErrSize)
	}
	if e.encode == nil {
		return best.standard(dst, src, &e.table), nil
	}
	return e.encode(dst, src, &e.table), nil
}

// A Decoder decompresses by one implementation. It keeps no state, so any number of goroutines may
// use one. The zero value is that of [Decompress].
type Decoder struct {
	decode decodeFunc // immutable; nil for the best
}

// NewDecoder makes a decoder that uses no more than set, or the best if set is empty. A set that
// may not be used here is an error that wraps [ErrUnavailable].
func NewDecoder(set Set) (*Decoder, error) {
	e, err := routinesTable.For(set)
	if err != nil {
		return nil, fmt.Errorf("make lz4 decoder: %w", err)
	}
	return &Decoder{decode: e.F.decode}, nil
}

// Decompress works like the function [Decompress].
func (d *Decoder) Decompress(dst, src []byte) error {
	if d.decode == nil {
		return decompress(best.decode, dst, src)
	}
	return decompress(d.decode, dst, src)
}

// Decompress fills dst (1 to [MaxSize] bytes, else [ErrSize]) from the object src. It returns an
// error that wraps [ErrCorrupt], and leaves anything in dst, when src is not a block of exactly
// len(dst) bytes; it never panics and never writes outside dst, whatever src holds. It keeps no
// state, so any number of goroutines may call it. The two buffers must not overlap.
func Decompress(dst, src []byte) error { return decompress(best.decode, dst, src) }

func decompress(decode decodeFunc, dst, src []byte) error {
	if len(dst) == 0 || len(dst) > MaxSize {
		return fmt.Errorf("decompress lz4 block to %d bytes: %w", len(dst), ErrSize)
	}
	if !decode(dst, src) {
		return fmt.Errorf("decompress lz4 block of %d bytes to %d: %w", len(src), len(dst), ErrCorrupt)
	}
	return nil
}
