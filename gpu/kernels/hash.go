// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"encoding/binary"
	"slices"
)

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

// Hash is the hash of a page or an object that the verifying and proving kernels return. It is not
// cryptographic, but any change within a single lane's words changes it, and others go unseen once
// in 2^64. Zeros fill the last row of 512 bytes. Each of 32 lanes goes over the words that it also
// loads: two at lane×16 in each row. The number of those zeros, 0 for a page, is the last word.
func Hash(data []byte) uint64 {
	zeros := -len(data) & (rowBytes - 1)
	data = append(slices.Clip(data), make([]byte, zeros)...)
	var sum uint64
	for lane := range lanes {
		h := uint64(lane+1) * hashSeed
		for at := lane * quadBytes; at < len(data); at += rowBytes {
			h = hashQuad(h, data[at:])
		}
		// Twice more, to spread a change of the last words over all bits before it can meet another
		// lane's.
		sum += hashWord(hashWord(h, 0), 0)
	}
	return hashWord(sum, uint64(zeros))
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
