// SPDX-License-Identifier: Apache-2.0

package kernels

import "encoding/binary"

// PageSize is the size in bytes of a page: what an object stands for.
const PageSize = 4096

// The hash's multipliers: odd, so that a multiplication loses nothing, with bits of 2^64 over the
// golden ratio and over its square.
const (
	hashSeed   = 0x9E3779B97F4A7C15
	hashFactor = 0x61C8864680B583EB
)

// quadBytes is what a lane loads or stores of memory at once, and rowBytes what the lanes of a warp
// do together. The machine moves whole sectors.
const (
	quadBytes   = 16
	sectorBytes = 32
	lanes       = 32
	rowBytes    = lanes * quadBytes
)

// PageHash is the hash that the verifying and compressing kernels give of a page of [PageSize]
// bytes. It is no cryptographic one, but any change that touches a single lane's words changes it,
// and others pass unseen once in 2^64. Each of 32 lanes goes over the words that it also loads: two
// at lane×16 in each of the page's eight rows of 512 bytes. It panics if the page is shorter.
func PageHash(page []byte) uint64 {
	page = page[:PageSize]
	var sum uint64
	for lane := range lanes {
		h := uint64(lane+1) * hashSeed
		for at := lane * quadBytes; at < PageSize; at += rowBytes {
			h = hashWord(h, binary.LittleEndian.Uint64(page[at:]))
			h = hashWord(h, binary.LittleEndian.Uint64(page[at+8:]))
		}
		// Twice more, so that what the last words change is all over before it can meet another lane's.
		sum += hashWord(hashWord(h, 0), 0)
	}
	return hashWord(sum, 0)
}

// hashWord takes one more word into a lane's hash. For any word it maps different hashes to
// different ones, and the other way round.
func hashWord(h, word uint64) uint64 {
	h = (h ^ word) * hashFactor
	return h ^ h>>32
}
