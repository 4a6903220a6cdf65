// SPDX-License-Identifier: Apache-2.0

package page

import "encoding/binary"

const (
	// maxCode is the length in bits of the longest code, so that a table of 2 KiB decodes it in one
	// step.
	maxCode = 10
	// maxFavourites is how many symbols a code may have in addition to the 256 bytes.
	maxFavourites = 24
	maxSymbols    = 256 + maxFavourites
	// lengthBits is how many low bits of a table's entry are the length of a code: as many as a
	// processor looks at when it shifts a word by the whole entry.
	lengthBits = 6
	lengthMask = 1<<lengthBits - 1

	// lanes is how many strings of bits an object's symbols are dealt out to, so that as many can
	// be decoded at once.
	lanes = 4
	// atOnce is how many symbols of a lane are decoded from one word: the longest codes, behind up
	// to seven bits of another byte.
	atOnce = (64 - 7) / maxCode
	// block is how many symbols all lanes decode at once.
	block = lanes * atOnce
)

// A code is one of the codes that streams are written in. It is immutable once made.
type code struct {
	favourites int                  // how many symbols follow the 256 bytes
	decode     [1 << maxCode]uint16 // for the next bits, the first in the lowest: symbol<<lengthBits | length
	encode     [maxSymbols]uint16   // for a symbol: its bits, the first in the lowest, <<lengthBits | length
}

// newCode makes the canonical code of lengths, one hexadecimal digit a symbol: codes are numbered
// by length and then by symbol.
func newCode(lengths string) *code {
	c := &code{favourites: len(lengths) - 256}
	next := 0
	for length := 1; length <= maxCode; length++ {
		for symbol := range len(lengths) {
			if lengthOf(lengths[symbol]) != length {
				continue
			}
			bits := reversed(next, length)
			c.encode[symbol] = uint16(bits<<lengthBits | length)
			for i := bits; i < len(c.decode); i += 1 << length {
				c.decode[i] = uint16(symbol<<lengthBits | length)
			}
			next++
		}
		next <<= 1
	}
	return c
}

// length is the number of bits of a symbol.
func (c *code) length(symbol int) int { return int(c.encode[symbol] & lengthMask) }

// lengthOf is the value of a hexadecimal digit.
func lengthOf(digit byte) int {
	if digit >= 'a' {
		return int(digit-'a') + 10
	}
	return int(digit - '0')
}

// reversed returns the lowest n bits of x in the other order.
func reversed(x, n int) (r int) {
	for range n {
		r, x = r<<1|x&1, x>>1
	}
	return r
}

// A laneWriter collects the bits of a lane.
type laneWriter struct {
	bits  uint64 // those that are in no byte yet
	count uint   // how many these are, less than 8
	size  int    // how many whole bytes there are
	bytes [laneSize]byte
}

// laneSize is the largest number of bytes that a lane of an encoder's needs, and room for a word
// behind them: a page has no more than Size literals and tokens together with the bytes of their
// distances, a quarter of them in each lane, and each takes maxCode bits.
const laneSize = 3*Size*maxCode/(8*lanes) + 256

// write appends those symbols of a segment that are the lane's, from the first on. Codes are as a
// code has them.
func (w *laneWriter) write(codes *[256]uint16, segment []byte, lane int) {
	bits, count, size := w.bits, w.count, w.size
	for ; len(segment) >= block; segment = segment[block:] {
		s := segment[:block]
		for i := range atOnce {
			e := codes[s[lanes*i+lane&(lanes-1)]]
			bits |= uint64(e>>lengthBits) << (count & 63)
			count += uint(e & lengthMask)
		}
		binary.LittleEndian.PutUint64(w.bytes[size:], bits)
		size += int(count >> 3)
		bits >>= count & 56
		count &= 7
	}
	for ; lane < len(segment); lane += lanes {
		e := codes[segment[lane]]
		bits |= uint64(e>>lengthBits) << (count & 63)
		count += uint(e & lengthMask)
	}
	binary.LittleEndian.PutUint64(w.bytes[size:], bits)
	w.size = size + int(count>>3)
	w.bits = bits >> (count & 56)
	w.count = count & 7
}

// length is the number of bytes of all bits, the last one filled up with zeros.
func (w *laneWriter) length() int { return w.size + int(w.count+7)>>3 }
