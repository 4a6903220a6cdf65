// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"encoding/binary"

	"zramfs/codec"
)

// The constants of [Hash], in which there is nothing secret: 2^32 divided by the golden ratio, and the finaliser of MurmurHash3 for 64 bits.
const (
	hashKey  = 0x9e3779b1
	hashMix1 = 0xff51afd7ed558ccd
	hashMix2 = 0xc4ceb9fe1a85ec53
)

// What is between the keys of neighbouring words, and of those two, three and four apart.
const (
	step1 uint32 = hashKey
	step2 uint32 = 2 * hashKey & (1<<32 - 1)
	step3 uint32 = 3 * hashKey & (1<<32 - 1)
	step4 uint32 = 4 * hashKey & (1<<32 - 1)
)

// Hash returns eight bytes that stand for a page, which must be of PageSize bytes. It finds equal pages and accidental changes; whoever wants to can make
// two pages that have the same one.
//
// It is the multilinear hash NH (Black and others, UMAC, 1999) with keys that follow from the place: the sum, modulo 2^64, over all pairs of 32-bit
// words, little-endian, of the product of both, to each of which its key was added modulo 2^32; word number j has the key (j+1) * hashKey. The sum is then
// mixed: x ^= x>>33, x *= hashMix1, x ^= x>>33, x *= hashMix2, x ^= x>>33. A sum has no order, so that each thread of a GPU can add its own part.
func Hash(page []byte) uint64 {
	page = page[:codec.PageSize]
	var even, odd uint64 // two sums, so that one addition need not wait for the other
	key := step1
	for at := 0; at < codec.PageSize; at += 16 {
		words := page[at : at+16 : at+16]
		a, b := binary.LittleEndian.Uint64(words), binary.LittleEndian.Uint64(words[8:])
		even += uint64(uint32(a)+key) * uint64(uint32(a>>32)+key+step1)
		odd += uint64(uint32(b)+key+step2) * uint64(uint32(b>>32)+key+step3)
		key += step4
	}
	x := even + odd
	x ^= x >> 33
	x *= hashMix1
	x ^= x >> 33
	x *= hashMix2
	return x ^ x>>33
}
