// SPDX-License-Identifier: Apache-2.0

package pagescan

// PageSize is the length in bytes of the pages that [Scan] takes.
const PageSize = 4096

// Sampled is how many bytes of a page [Scan] counts: one cache line of each half KiB.
const Sampled = sampleLines * sampleLine

// countFunc is countGeneric or a function that works like it.
type countFunc func(page []byte) uint64

// count is this machine's implementation. It is chosen at start and never written again.
var count = countTable.Best().F

// Features says of how many of a page's [Sampled] bytes something is true, 0 to Sampled each. The
// zero value is that of text without a repetition, and of nothing else.
type Features struct {
	High   uint16 // bytes of 0x80 and more: few in text, some in pointers, half of what is compressed or encrypted
	Zero   uint16 // zero bytes
	Same24 uint16 // bytes that equal the byte 24 before: arrays of structures, and columns of text by chance
	Same16 uint16 // bytes of those aligned 8-byte words that equal the word 16 before: what any codec says in a byte
}

// Scan counts the features of page, which may lie at any address. Its cost does not depend on what
// the page holds. For a page of another length than [PageSize] it returns the zero value.
func Scan(page []byte) Features {
	if len(page) != PageSize {
		return Features{}
	}
	return split(count(page))
}

// split returns the features that an implementation put into one word.
func split(counts uint64) Features {
	return Features{
		High:   uint16(counts),
		Zero:   uint16(counts >> 16),
		Same24: uint16(counts >> 32),
		Same16: uint16(counts >> 48),
	}
}
