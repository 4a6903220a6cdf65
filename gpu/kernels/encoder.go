// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"encoding/binary"
	"math/bits"
)

// An Encoder makes on the CPU the same objects that [LZ4Compress] makes, so it can replace a failed
// GPU without a visible difference. The zero value is ready. It is not safe for concurrent use,
// keeps nothing between pages, and allocates nothing.
type Encoder struct {
	table [tableSize]uint16 // last position of each hash
	out   []byte            // the object so far, in the caller's memory
}

// Compress writes the object of a page of [PageSize] bytes to dst and returns its length in bytes,
// or 0 if dst is too short. The kernel's limit bounds it to 4095. It panics if the page is shorter
// than a page.
func (e *Encoder) Compress(dst, page []byte) int {
	page = page[:PageSize]
	e.table, e.out = [tableSize]uint16{}, dst[:0:min(len(dst), PageSize-1)]
	anchor := 0
	var from [lanes]int
	for base := 0; base <= lastMatch; base = max(base+lanes, anchor) {
		for hits := e.window(page, base, &from); hits != 0; {
			lane := bits.TrailingZeros32(hits)
			at := base + lane
			length := matchLength(page, at, from[lane])
			if !e.append(page[anchor:at], at-from[lane], length) {
				return 0
			}
			anchor = at + length
			hits &= uint32(uint64(1<<32-1) << min(anchor-base, lanes))
		}
	}
	if !e.append(page[anchor:], 0, 0) {
		return 0
	}
	return len(e.out)
}

// window looks 32 positions up and enters them, one after another. hits has a bit for each at which
// a match begins, from the position that it repeats.
func (e *Encoder) window(page []byte, base int, from *[lanes]int) (hits uint32) {
	for lane := range min(lanes, lastMatch+1-base) {
		at := base + lane
		word := binary.LittleEndian.Uint32(page[at:])
		slot := &e.table[(word*hashLow+uint32(page[at+4])*hashHigh)>>(32-tableBits)]
		from[lane] = int(*slot)
		if from[lane] < at && binary.LittleEndian.Uint32(page[from[lane]:]) == word {
			hits |= 1 << lane
		}
		*slot = uint16(at)
	}
	return hits
}

// matchLength returns how many bytes are equal from both positions on; four are known to be.
func matchLength(page []byte, at, from int) int {
	end, distance := at+minMatch, at-from
	for ; end+8 <= matchStop; end += 8 {
		if x := binary.LittleEndian.Uint64(page[end:]) ^ binary.LittleEndian.Uint64(page[end-distance:]); x != 0 {
			return end + bits.TrailingZeros64(x)/8 - at
		}
	}
	for end < matchStop && page[end] == page[end-distance] {
		end++
	}
	return end - at
}

// append writes a sequence, without a match if length is 0, and reports whether there was room.
func (e *Encoder) append(literals []byte, distance, length int) bool {
	half, tail := max(length-minMatch, 0), 0
	if length > 0 {
		tail = 2 + extra(half)
	}
	if 1+extra(len(literals))+len(literals)+tail > cap(e.out)-len(e.out) {
		return false
	}
	e.out = append(e.out, byte(min(len(literals), escape)<<4|min(half, escape)))
	e.appendExtra(len(literals))
	e.out = append(e.out, literals...)
	if length > 0 {
		e.out = binary.LittleEndian.AppendUint16(e.out, uint16(distance))
		e.appendExtra(half)
	}
	return true
}

// extra returns how many bytes of length follow a half token; appendExtra writes them.
func extra(length int) int { return (length + 255 - escape) / 255 }

func (e *Encoder) appendExtra(length int) {
	for n := extra(length); n > 0; n-- {
		e.out = append(e.out, byte(min(length-escape, 255)))
		length -= 255
	}
}
