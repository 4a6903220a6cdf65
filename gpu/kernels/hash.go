// SPDX-License-Identifier: Apache-2.0

package kernels

import "encoding/binary"

// PageSize is the size of a page, in bytes.
const PageSize = 4096

// The hash's multipliers: odd, so that a multiplication loses nothing, with bits of 2^64 over the
// golden ratio and over its square.
const (
	hashSeed   = 0x9E3779B97F4A7C15
	hashFactor = 0x61C8864680B583EB
)

// quadBytes is the size of a lane's widest load or store, and rowBytes that of the lanes of a warp
// together. Memory moves in whole sectors.
const (
	quadBytes   = 16
	sectorBytes = 32
	lanes       = 32
	rowBytes    = lanes * quadBytes
)

// PageHash is the hash of a page of [PageSize] bytes that the verifying and compressing kernels
// return. It is not cryptographic, but any change within a single lane's words changes it, and
// others go unseen once in 2^64. Each of 32 lanes goes over the words that it also loads: two at
// lane×16 in each of the page's eight rows of 512 bytes. It panics if the page is shorter.
func PageHash(page []byte) uint64 {
	page = page[:PageSize]
	var sum uint64
	for lane := range lanes {
		h := uint64(lane+1) * hashSeed
		for at := lane * quadBytes; at < PageSize; at += rowBytes {
			h = hashQuad(h, page[at:])
		}
		// Twice more, to spread a change of the last words over all bits before it can meet another
		// lane's.
		sum += hashWord(hashWord(h, 0), 0)
	}
	return hashWord(sum, 0)
}

// ObjectHash is the hash of an object that [LZ4Prove] returns: that of its granules, with zeros
// behind its length bytes, in which lane k of 32 goes over granules k, k+32 and so on, and then of
// its length. It panics if granules are fewer than the object has.
func ObjectHash(granules []byte, length uint32) uint64 {
	var h [lanes]uint64
	for lane := range h {
		h[lane] = uint64(lane+1) * hashSeed
	}
	n := (int(length) + GranuleSize - 1) / GranuleSize
	granules = granules[:n*GranuleSize]
	for k := range n {
		h[k%lanes] = hashQuad(h[k%lanes], granules[k*GranuleSize:])
	}
	var sum uint64
	for _, h := range h {
		sum += hashWord(hashWord(h, 0), 0)
	}
	return hashWord(sum, uint64(length))
}

// hashQuad adds the two words of a lane's 16 bytes.
func hashQuad(h uint64, quad []byte) uint64 {
	quad = quad[:quadBytes]
	return hashWord(hashWord(h, binary.LittleEndian.Uint64(quad)), binary.LittleEndian.Uint64(quad[8:]))
}

// hashWord adds a word to a lane's hash. For any word it is a bijection of hashes.
func hashWord(h, word uint64) uint64 {
	h = (h ^ word) * hashFactor
	return h ^ h>>32
}
