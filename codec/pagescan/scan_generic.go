// SPDX-License-Identifier: Apache-2.0

package pagescan

import "encoding/binary"

// The sample: sampleLines cache lines, one each sampleStride bytes from sampleStart on. The
// generator of the assembly has the same numbers.
const (
	sampleStart  = 128
	sampleStride = 512
	sampleLine   = 64
	sampleLines  = 8
)

// The distances in bytes at which the sample is compared with what lies before it.
const (
	distanceBytes = 24
	distanceWords = 16
)

const (
	lowSeven = 0x7f7f7f7f7f7f7f7f // all but the highest bit of each byte
	lowOnes  = 0x0101010101010101 // the lowest bit of each byte
	evenByte = 0x00ff00ff00ff00ff // every second byte
	evenOnes = 0x0001000100010001
)

// countGeneric returns the features of a page of PageSize bytes, 16 bits each, in the order of the
// fields of Features from the lowest bits up. The functions in assembly return the same.
func countGeneric(page []byte) uint64 {
	_ = page[:PageSize]
	// Each byte of a sum counts the hits at that place of a word: at most one for each of 64 words.
	var high, zero, same24, words uint64
	for at := sampleStart; at < PageSize; at += sampleStride {
		before := page[at-distanceBytes : at+sampleLine]
		for i := distanceBytes; i < len(before); i += wordSize {
			w := binary.LittleEndian.Uint64(before[i:])
			high += w >> 7 & lowOnes
			zero += zeroBytes(w)
			same24 += zeroBytes(w ^ binary.LittleEndian.Uint64(before[i-distanceBytes:]))
			if w == binary.LittleEndian.Uint64(before[i-distanceWords:]) {
				words += wordSize
			}
		}
	}
	return addBytes(high) | addBytes(zero)<<16 | addBytes(same24)<<32 | words<<48
}

// zeroBytes returns a word with the lowest bit of each byte set where that byte of w is zero.
func zeroBytes(w uint64) uint64 {
	// The addition carries into the highest bit of a byte, and never beyond, unless its lower seven
	// are zero.
	return ^(w&lowSeven + lowSeven | w) >> 7 & lowOnes
}

// addBytes returns the sum of the eight bytes of w.
func addBytes(w uint64) uint64 {
	return (w&evenByte + w>>8&evenByte) * evenOnes >> 48
}
