// SPDX-License-Identifier: Apache-2.0

package kernels

import "encoding/binary"

// A Kind is the compressor's result for a page.
type Kind uint32

// The kinds. Only for KindLZ4 is anything stored.
const (
	KindLZ4     Kind = iota // an LZ4 block
	KindSame                // the page is one word of eight bytes, repeated
	KindRaw                 // its object would be longer than the limit
	KindNoSpace             // the arena is full
)

// String is the kind's name.
func (k Kind) String() string {
	names := [...]string{"lz4", "same", "raw", "no space"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// ResultSize is the size of the compressor's result for a page, in bytes: a sector.
const ResultSize = 32

// A Result is the compressor's result for a page. [LZ4Prove] replaces Hash and Word of an object:
// by [Hash] of the page that it decompresses to, and by that of its own bytes; by 0 and 0 if it is
// corrupt.
type Result struct {
	Hash   uint64 // 0 without a proof
	Word   uint64 // the page's first eight bytes, which a same-filled page repeats
	Offset uint64 // in bytes, where in the arena the object begins
	Length uint32 // of the object, in bytes; also set without space for it
	Kind   Kind
}

// ReadResult parses a result, of [ResultSize] bytes. It panics if there are fewer.
func ReadResult(b []byte) Result {
	b = b[:ResultSize]
	r := Result{
		Hash:   binary.LittleEndian.Uint64(b),
		Word:   binary.LittleEndian.Uint64(b[8:]),
		Length: binary.LittleEndian.Uint32(b[20:]),
		Kind:   Kind(binary.LittleEndian.Uint32(b[24:])),
	}
	if r.Kind == KindLZ4 {
		r.Offset = uint64(binary.LittleEndian.Uint32(b[16:])) * GranuleSize
	}
	return r
}
