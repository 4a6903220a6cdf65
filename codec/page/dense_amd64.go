// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package page

import "github.com/zramfs/zramfs/codec/internal/impl"

var denseTable = impl.Table[denseRoutines]{
	{Set: impl.AVX2, F: denseRoutines{parse: parseDenseAVX2, write: writeAVX2, read: readAVX2, decode: decodeAVX2, cluster: decodeClusterAVX2}},
	{Set: impl.Generic, F: denseRoutines{parse: parseDenseGeneric, write: writeGeneric, read: readGeneric, decode: decodeGeneric, cluster: decodeClusterGeneric}},
}

// parseDenseAVX2 writes nearly all matches itself and leaves to the caller those that take more
// tokens than a plan has.
func parseDenseAVX2(s *search) bool { return parseDenseTokensAVX2(s, plans) }

// parseDenseTokensAVX2 works like parseDenseGeneric.
//
//go:noescape
func parseDenseTokensAVX2(s *search, plans *planTable) bool

// writeAVX2 needs at least one symbol.
func writeAVX2(w *[lanes]laneWriter, codes *[256]uint16, segment []byte) {
	if len(segment) > 0 {
		writeSegmentAVX2(w, codes, segment)
	}
}

// writeSegmentAVX2 works like writeGeneric, where there is any symbol. It may read a block behind
// the segment.
//
//go:noescape
func writeSegmentAVX2(w *[lanes]laneWriter, codes *[256]uint16, segment []byte)

// readAVX2 always decodes whole blocks.
func readAVX2(s []byte, p *positions, decode *[1 << maxCode]uint16, names *[maxSymbols]byte, dst []byte) {
	switch {
	case len(dst) == 0:
	case names == nil:
		readSegmentAVX2(&s[0], p, decode, dst)
	default:
		readTokensAVX2(&s[0], p, decode, names, dst)
	}
}

// readSegmentAVX2 works like readGeneric without names, where there is any symbol.
//
//go:noescape
func readSegmentAVX2(s *byte, p *positions, decode *[1 << maxCode]uint16, dst []byte)

// readTokensAVX2 works like readGeneric with names, where there is any symbol.
//
//go:noescape
func readTokensAVX2(s *byte, p *positions, decode *[1 << maxCode]uint16, names *[maxSymbols]byte, dst []byte)
