// SPDX-License-Identifier: Apache-2.0

package kernels

// The numbers of the LZ4 block format: a match has at least minMatch bytes, none begins behind
// lastMatch or reaches matchStop, and a length of escape in a token continues in bytes behind it.
const (
	minMatch  = 4
	lastMatch = PageSize - 12
	matchStop = PageSize - 5
	escape    = 15
)

// The longest objects that the kernels read, in bytes. No LZ4 block of a page is longer, since only
// its lengths can make it longer than the page; a longer one is corrupt, for package lz4 too.
const (
	MaxLZ4Object  = PageSize + PageSize/255 + 64
	MaxPageObject = PageSize - 1
)

// The compressor's table of positions, and its hash of five bytes.
const (
	tableBits = 11
	tableSize = 1 << tableBits
	hashLow   = 0x9E3779B1
	hashHigh  = 0x85EBCA77
)

// Zeros behind data in shared memory, for loads that may go further: the word behind the literals
// of an LZ4 object that ends early, and the words at the last positions of a page that is looked up
// 32 positions at a time.
const (
	lz4Pad      = 32
	compressPad = 32
)

// Moves of the remembered distances, a byte each from the last one on: the rank that it comes from.
// In moveNew the last one is new.
const (
	moveLast   = 0x03020100
	moveSecond = 0x03020001
	moveThird  = 0x03010002
	moveFourth = 0x02010003
	moveNew    = 0x02010000
	moveOfLane = 128 // and the lane's number: a byte for a distance that is new
)

// The statuses of an object.
const (
	StatusOK      = 0
	StatusCorrupt = 1
)

// Near bytes stand for distances of 1 to nearDense and from there in steps: nearBase + nearStep
// times the byte.
const (
	nearDense = 64
	nearStep  = 8
	nearBase  = (nearDense - nearStep*(nearDense-1)) & 0xffffffff
)

// GranuleSize is the unit in which the compressor packs objects, in bytes.
const GranuleSize = 16
