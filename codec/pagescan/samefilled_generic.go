// SPDX-License-Identifier: Apache-2.0

package pagescan

import "encoding/binary"

// stride is how many bytes one turn of the unrolled loop compares: a cache line.
const stride = 64

// repeatsGeneric reports whether each word of page is word. The length of page must be a multiple
// of a word's and not zero. The functions in assembly give the same answer.
func repeatsGeneric(page []byte, word uint64) bool {
	for len(page) >= stride {
		if lineDiffers(page[:stride], word) {
			return false
		}
		page = page[stride:]
	}
	for len(page) >= wordSize {
		if binary.LittleEndian.Uint64(page) != word {
			return false
		}
		page = page[wordSize:]
	}
	return true
}

// lineDiffers reports whether any of the eight words of line is not word. One branch for eight
// loads lets the processor do them side by side.
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
