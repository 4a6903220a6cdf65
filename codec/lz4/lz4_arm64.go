// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package lz4

import "github.com/zramfs/zramfs/codec/internal/impl"

// A decoder's time goes into copies, which vectors and freedom from bounds checks make quick; an
// encoder gains little from either.
var routinesTable = impl.Table[routines]{
	{Set: impl.NEON, F: routines{standard: encodeGeneric, fast: encodeFastGeneric, decode: decodeNEON}},
	{Set: impl.Generic, F: routines{standard: encodeGeneric, fast: encodeFastGeneric, decode: decodeGeneric}},
}

func decodeNEON(dst, src []byte) bool {
	if len(dst) < writeMargin || len(src) < readMargin {
		return decodeGeneric(dst, src)
	}
	written, read := decodeBlockNEON(dst, src)
	return decodeFrom(dst, src, written, read)
}

// decodeBlockNEON works like decodeGeneric, for buffers of writeMargin and readMargin bytes at
// least, up to a sequence that is wrong or too near to the end of a buffer. It returns how many
// bytes it wrote and how many it read before that, for decodeFrom to go on from. Bytes of dst
// behind these may have been written as well.
//
//go:noescape
func decodeBlockNEON(dst, src []byte) (written, read int)
