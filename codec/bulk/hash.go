// SPDX-License-Identifier: Apache-2.0

package bulk

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

// hashFunc is hashGeneric or a function that works like it.
type hashFunc func(data []byte) uint64

// hash is this machine's implementation. It is chosen at start and never written again.
var hash = hashTable.Best().F

// Hash returns a 64-bit hash of a page or an object. It finds equal data and accidental changes; it
// does not resist deliberate collisions.
//
// The kernels of package gpu compute the same hash. Zeros fill the last row of 512 bytes. Each of
// 32 lanes goes over 16 bytes of each row, eight at a time, little-endian: h begins as (lane+1) *
// hashSeed, and a word makes h = (h^word) * hashFactor and then h ^= h>>32. Each lane ends with two
// words that are 0, so that a change in its last word reaches all bits and changes of two lanes do
// not cancel each other. The number of zeros that fill the last row, 0 for a page, is the last word
// of the lanes' sum.
func Hash(data []byte) uint64 { return hash(data) }

// inRows returns the whole rows of data, and last with the rest, or nil if there is no rest. The
// caller's last is all zeros.
func inRows(data []byte, last *[rowBytes]byte) ([]byte, *[rowBytes]byte) {
	whole := len(data) &^ (rowBytes - 1)
	if copy(last[:], data[whole:]) == 0 {
		return data, nil
	}
	return data[:whole], last
}

// endHash returns the hash of size bytes from the lanes' sum.
func endHash(sum uint64, size int) uint64 { return hashWord(sum, uint64(-size&(rowBytes-1))) }

func hashWord(h, word uint64) uint64 {
	h = (h ^ word) * hashFactor
	return h ^ h>>32
}
