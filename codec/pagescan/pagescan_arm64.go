// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package pagescan

import "github.com/zramfs/zramfs/codec/internal/impl"

// widthNEON is how many bytes one turn of repeatsNEON compares.
const widthNEON = 64

var repeatsTable = impl.Table[repeatsFunc]{
	{Set: impl.NEON, F: longRepeatsNEON},
	{Set: impl.Generic, F: repeatsGeneric},
}

var countTable = impl.Table[countFunc]{
	{Set: impl.NEON, F: countNEON},
	{Set: impl.Generic, F: countGeneric},
}

// longRepeatsNEON leaves what does not fill a turn of the loop to Go.
func longRepeatsNEON(page []byte, word uint64) bool {
	whole := len(page) / widthNEON * widthNEON
	if whole > 0 && !repeatsNEON(page[:whole], word) {
		return false
	}
	return repeatsGeneric(page[whole:], word)
}

// repeatsNEON works like repeatsGeneric, for pages of one or more times widthNEON bytes.
//
//go:noescape
func repeatsNEON(page []byte, word uint64) bool

// countNEON works like countGeneric.
//
//go:noescape
func countNEON(page []byte) uint64
