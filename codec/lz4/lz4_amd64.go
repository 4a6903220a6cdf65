// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package lz4

import "github.com/zramfs/zramfs/codec/internal/impl"

// Go's compiler makes bounds checks and reloads of what the assembly keeps in 15 registers:
// docs/performance.md has the figures of both. The decoder's assembly needs less than AVX2, but no
// machine is worth a set of its own.
var routinesTable = impl.Table[routines]{
	{Set: impl.AVX2, F: routines{standard: standardAVX2, fast: fastAVX2, decode: decodeAVX2}},
	{Set: impl.Generic, F: routines{standard: encodeGeneric, fast: encodeFastGeneric, decode: decodeGeneric}},
}

func standardAVX2(dst, src []byte, t *table) int {
	if len(src) <= matchMargin || len(dst) < slack {
		return encodeGeneric(dst, src, t)
	}
	n, anchor, at, from := encodeBlockAVX2(dst, src, t)
	return finish(dst, src, t, place{n, anchor, at, from})
}

func fastAVX2(dst, src []byte, t *table) int {
	if len(src) <= matchMargin || len(dst) < slack {
		return encodeFastGeneric(dst, src, t)
	}
	n, anchor, at, from := encodeFastBlockAVX2(dst, src, t)
	return finishFast(dst, src, t, place{n, anchor, at, from})
}

func decodeAVX2(dst, src []byte) bool {
	if len(dst) < writeMargin || len(src) < readMargin {
		return decodeGeneric(dst, src)
	}
	written, read := decodeBlockAVX2(dst, src)
	return decodeFrom(dst, src, written, read)
}

// encodeBlockAVX2 works like encodeGeneric, for more than matchMargin bytes and at least slack
// bytes of dst, up to the last literals or to a match where dst has become narrow: it returns the
// place for finish to go on from.
//
//go:noescape
func encodeBlockAVX2(dst, src []byte, t *table) (n, anchor, at, from int)

// encodeFastBlockAVX2 works like encodeFastGeneric in the same way.
//
//go:noescape
func encodeFastBlockAVX2(dst, src []byte, t *table) (n, anchor, at, from int)

// decodeBlockAVX2 works like decodeGeneric, for buffers of writeMargin and readMargin bytes at
// least, up to a sequence that is wrong or too near to the end of a buffer. It returns how many
// bytes it wrote and how many it read before that, for decodeFrom to go on from. Bytes of dst
// behind these may have been written as well.
//
//go:noescape
func decodeBlockAVX2(dst, src []byte) (written, read int)
