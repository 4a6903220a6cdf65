// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"encoding/binary"

	"github.com/zramfs/zramfs/codec"
)

// The multipliers of [Hash]: odd, so that multiplication loses no bits.
const (
	hashSeed   = 0x9e3779b97f4a7c15
	hashFactor = 0x61c8864680b583eb
)

// The 32 lanes of [Hash]; each has 16 bytes of a row.
const (
	hashLanes = 32
	laneBytes = 16
	rowBytes  = hashLanes * laneBytes
)

// Hash returns a 64-bit hash of a page, which must have PageSize bytes. It finds equal pages and
// accidental changes; it does not resist deliberate collisions.
//
// The kernels of package gpu compute the same hash. Each of 32 lanes goes over 16 bytes of each row
// of 512, eight at a time, little-endian: h begins as (lane+1) * hashSeed, and a word makes h =
// (h^word) * hashFactor and then h ^= h>>32. Each lane ends with two words that are 0, so that a
// change in its last word reaches all bits and changes of two lanes do not cancel each other; the
// lanes' sum ends with one.
func Hash(page []byte) uint64 {
	page = page[:codec.PageSize]
	sum := uint64(0)
	for lane := uint64(0); lane < hashLanes; lane += 4 { // four at a time: a lane waits for its own multiplications
		a, b, c, d := (lane+1)*hashSeed, (lane+2)*hashSeed, (lane+3)*hashSeed, (lane+4)*hashSeed
		for at := int(lane) * laneBytes; at < codec.PageSize; at += rowBytes {
			four := page[at : at+4*laneBytes : at+4*laneBytes]
			a = hashWords(a, four[:laneBytes])
			b = hashWords(b, four[laneBytes:2*laneBytes])
			c = hashWords(c, four[2*laneBytes:3*laneBytes])
			d = hashWords(d, four[3*laneBytes:])
		}
		sum += endLane(a) + endLane(b) + endLane(c) + endLane(d)
	}
	return hashWord(sum, 0)
}

// hashWords adds a lane's two words of a row.
func hashWords(h uint64, two []byte) uint64 {
	return hashWord(hashWord(h, binary.LittleEndian.Uint64(two)), binary.LittleEndian.Uint64(two[8:]))
}

func endLane(h uint64) uint64 { return hashWord(hashWord(h, 0), 0) }

func hashWord(h, word uint64) uint64 {
	h = (h ^ word) * hashFactor
	return h ^ h>>32
}
