// SPDX-License-Identifier: Apache-2.0

package pagescan

import "encoding/binary"

const (
	wordSize = 8
	// stride is how many bytes one turn of the unrolled loop compares: a cache line.
	stride = 64
)

// SameFilled reports whether page is one 8-byte word repeated from its first byte to its last, and which word, loaded
// little-endian. It is the rule of the kernel's zram (page_same_filled in drivers/block/zram/zram_drv.c), so a page that
// zram would store without an object is stored so here as well.
//
// The length of page must be a multiple of 8 bytes and not zero; for any other length ok is false.
func SameFilled(page []byte) (word uint64, ok bool) {
	if len(page) < wordSize || len(page)%wordSize != 0 {
		return 0, false
	}
	word = binary.LittleEndian.Uint64(page)
	// A page that is not same-filled mostly differs at its end even where its start repeats (a heap page in use from
	// the bottom up), so this one comparison settles most pages.
	if binary.LittleEndian.Uint64(page[len(page)-wordSize:]) != word {
		return 0, false
	}
	rest := page
	for len(rest) >= stride {
		if lineDiffers(rest[:stride], word) {
			return 0, false
		}
		rest = rest[stride:]
	}
	for len(rest) >= wordSize {
		if binary.LittleEndian.Uint64(rest) != word {
			return 0, false
		}
		rest = rest[wordSize:]
	}
	return word, true
}

// lineDiffers reports whether any of the eight words of line is not word. One branch for eight loads lets the processor
// do them side by side.
func lineDiffers(line []byte, word uint64) bool {
	_ = line[stride-1]
	diff := binary.LittleEndian.Uint64(line[0:]) ^ word
	diff |= binary.LittleEndian.Uint64(line[8:]) ^ word
	diff |= binary.LittleEndian.Uint64(line[16:]) ^ word
	diff |= binary.LittleEndian.Uint64(line[24:]) ^ word
	diff |= binary.LittleEndian.Uint64(line[32:]) ^ word
	diff |= binary.LittleEndian.Uint64(line[40:]) ^ word
	diff |= binary.LittleEndian.Uint64(line[48:]) ^ word
	diff |= binary.LittleEndian.Uint64(line[56:]) ^ word
	return diff != 0
}
