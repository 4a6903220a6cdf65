// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package pagescan

import "github.com/zramfs/zramfs/codec/internal/impl"

// The vectors' widths: the shortest pages that each routine takes.
const (
	widthAVX2   = 32
	widthAVX512 = 64
)

var repeatsTable = impl.Table[repeatsFunc]{
	{Set: impl.AVX512, F: longRepeatsAVX512},
	{Set: impl.AVX2, F: longRepeatsAVX2},
	{Set: impl.Generic, F: repeatsGeneric},
}

var countTable = impl.Table[countFunc]{
	{Set: impl.AVX2, F: countAVX2},
	{Set: impl.Generic, F: countGeneric},
}

func longRepeatsAVX512(page []byte, word uint64) bool {
	if len(page) < widthAVX512 {
		return repeatsGeneric(page, word)
	}
	return repeatsAVX512(page, word)
}

func longRepeatsAVX2(page []byte, word uint64) bool {
	if len(page) < widthAVX2 {
		return repeatsGeneric(page, word)
	}
	return repeatsAVX2(page, word)
}

// repeatsAVX512 works like repeatsGeneric, for pages of at least widthAVX512 bytes.
//
//go:noescape
func repeatsAVX512(page []byte, word uint64) bool

// repeatsAVX2 works like repeatsGeneric, for pages of at least widthAVX2 bytes.
//
//go:noescape
func repeatsAVX2(page []byte, word uint64) bool

// countAVX2 works like countGeneric.
//
//go:noescape
func countAVX2(page []byte) uint64
