// SPDX-License-Identifier: Apache-2.0

package pagescan

import "encoding/binary"

const wordSize = 8

// repeatsFunc is repeatsGeneric or a function that works like it.
type repeatsFunc func(page []byte, word uint64) bool

// repeats is this machine's implementation. It is chosen at start and never written again.
var repeats = repeatsTable.Best().F

// SameFilled reports whether page is one 8-byte word repeated from its first byte to its last, and
// which word, loaded little-endian. It is the rule of the kernel's zram (page_same_filled in
// drivers/block/zram/zram_drv.c), so a page that zram would store without an object is stored so
// here as well. The page may lie at any address.
//
// The length of page must be a multiple of 8 bytes and not zero; for any other length ok is false.
func SameFilled(page []byte) (word uint64, ok bool) {
	if len(page) < wordSize || len(page)%wordSize != 0 {
		return 0, false
	}
	word = binary.LittleEndian.Uint64(page)
	// A page that is not same-filled mostly differs at its end even where its start repeats (a heap
	// page in use from the bottom up), so this one comparison settles most pages, and the vectors
	// are not even touched.
	if binary.LittleEndian.Uint64(page[len(page)-wordSize:]) != word || !repeats(page, word) {
		return 0, false
	}
	return word, true
}
