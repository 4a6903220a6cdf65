// SPDX-License-Identifier: Apache-2.0

package page

import "fmt"

// routines is what one instruction set has.
type routines struct {
	parse  parseFunc
	decode decodeFunc
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

// An Encoder compresses pages one after another. It keeps buffers between calls, but each object
// depends on its own page alone. It takes 32 KiB. The zero value is ready. It is not
// safe for concurrent use.
type Encoder struct {
	parse parseFunc // immutable; nil for the best
	search
}

// NewEncoder makes an encoder for one worker that uses no more than set of this machine's
// instructions, or the best if set is empty: that changes the speed, not the objects. A set that
// may not be used here is an error that wraps [ErrUnavailable].
func NewEncoder(set Set) (*Encoder, error) {
	e, err := routinesTable.For(set)
	if err != nil {
		return nil, fmt.Errorf("make page encoder: %w", err)
	}
	return &Encoder{parse: e.F.parse}, nil
}

// Compress writes the object of page, of exactly [Size] bytes (else [ErrSize]), to dst and returns
// its length in bytes. The length of dst is the cap on the object, and so is [MaxObject]: where the
// object would be longer, Compress returns 0, and what it left in dst means nothing. Nothing beyond
// len(dst) is written, whatever its capacity. The two buffers must not overlap.
func (e *Encoder) Compress(dst, page []byte) (int, error) {
	if len(page) != Size {
		return 0, fmt.Errorf("compress page of %d bytes: %w", len(page), ErrSize)
	}
	parse := e.parse
	if parse == nil {
		parse = best.parse
	}
	e.begin(page)
	for parse(&e.search) {
		e.emit()
	}
	e.emitLiterals(Size - e.anchor)
	return e.assemble(dst), nil
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
		return nil, fmt.Errorf("make page decoder: %w", err)
	}
	return &Decoder{decode: e.F.decode}, nil
}

// Decompress works like the function [Decompress].
func (d *Decoder) Decompress(dst, object []byte) error {
	if d.decode == nil {
		return decompress(best.decode, dst, object)
	}
	return decompress(d.decode, dst, object)
}

// Decompress fills dst, of exactly [Size] bytes (else [ErrSize]), with the page that object stands
// for. It returns an error that wraps [ErrCorrupt], and leaves anything in dst, when object stands
// for none; it never panics and never writes outside dst, whatever object holds. Damage that makes
// it another page's object passes unnoticed. It keeps no state, so any number of goroutines may
// call it. The two buffers must not overlap.
func Decompress(dst, object []byte) error { return decompress(best.decode, dst, object) }

func decompress(decode decodeFunc, dst, object []byte) error {
	if len(dst) != Size {
		return fmt.Errorf("decompress page to %d bytes: %w", len(dst), ErrSize)
	}
	if s, ok := split(object); !ok || !decode(dst, s) {
		return fmt.Errorf("decompress page object of %d bytes: %w", len(object), ErrCorrupt)
	}
	return nil
}
