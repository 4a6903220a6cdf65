// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/zramfs/zramfs/codec"
)

const (
	// Version is the version of the format that this package writes, the only one that it reads.
	Version = 1
	// BlockPages is the number of pages of the device that a block stands for.
	BlockPages = 1 << pageBits

	magic      = "zramsnap"
	blockMagic = "blk\x01"
	endMagic   = "end\x01"

	headerSize  = 32 // bytes, without texts and checksum
	blockSize   = 24 // without records, payload and checksum
	recordSize  = 4
	trailerSize = 76
	sumSize     = 4
	digestAt    = 40 // of the SHA-256 in the trailer
	wordSize    = 8
	maxName     = 1 << 12 // bytes of an algorithm's name
	maxPages    = 1 << 40 // of a device

	// The parts of a record, from bit 0.
	pageBits   = 10
	lengthBits = 12
	codecBits  = 5

	flagOneMoment = 1 // of the trailer
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrNoSnapshot means that a file does not begin as a snapshot does.
var ErrNoSnapshot = errors.New("not a snapshot of zramfs")

// A VersionError is the version of a snapshot that this package cannot read.
type VersionError uint32

// Error implements error.
func (v VersionError) Error() string {
	return fmt.Sprintf("it has version %d of the format, and this program reads version %d: take the program that saved it", uint32(v), Version)
}

// A DamageError says where a snapshot is damaged. It is JSON of the command inspect.
type DamageError struct {
	// Offset is where the damaged part begins, in bytes from the beginning of the file.
	Offset int64 `json:"offset"`
	// Page is the first page of the device that the damage may concern.
	Page uint64 `json:"page"`
	What string `json:"what"` // the damage in words
}

// Error implements error.
func (d *DamageError) Error() string {
	return fmt.Sprintf("damaged at offset %d, in the pages from %d on: %s", d.Offset, d.Page, d.What)
}

// A Header says what was saved.
type Header struct {
	// Pages is the size of the device in pages.
	Pages uint64
	// Algorithm is the device's as its status has it. Reading needs it not.
	Algorithm string
	// Dictionary is that of objects with codec.ZstdDict; empty for none.
	Dictionary []byte
}

// A Trailer sums a snapshot up.
type Trailer struct {
	// Blocks is the number of blocks.
	Blocks uint32
	// Data is the number of pages with a record; all others are zeros.
	Data uint64
	// End is the number of the last page with a record and 1 more; 0 where there is none.
	End uint64
	// OneMoment says that the device was not written to while it was saved.
	OneMoment bool
	// Digest is the SHA-256 of all bytes before it.
	Digest [32]byte
}

// A record stands for a page: from bit 0 its number in the block, the length of its object less
// one, and the object's codec, codec.None for a word that fills the page.
type record uint32

func newRecord(page uint64, id codec.ID, length int) record {
	return record(page%BlockPages | uint64(length-1)<<pageBits | uint64(id)<<(pageBits+lengthBits))
}

func (r record) page() uint32 { return uint32(r) & (1<<pageBits - 1) }
func (r record) length() int  { return int(r>>pageBits&(1<<lengthBits-1)) + 1 }
func (r record) id() codec.ID { return codec.ID(r >> (pageBits + lengthBits) & (1<<codecBits - 1)) }

// valid reports whether a record can be one of this version.
func (r record) valid() bool {
	switch {
	case r>>(pageBits+lengthBits+codecBits) != 0:
		return false
	case r.id() == codec.None:
		return r.length() == wordSize
	case r.id() == codec.Raw:
		return r.length() == codec.PageSize
	}
	return r.id() <= codec.ZstdDict
}

// seal appends the CRC-32C of p to it.
func seal(p []byte) []byte {
	return binary.LittleEndian.AppendUint32(p, crc32.Checksum(p, castagnoli))
}

// sealed reports whether p ends with the CRC-32C of what is before it.
func sealed(p []byte) bool {
	n := len(p) - sumSize
	return binary.LittleEndian.Uint32(p[n:]) == crc32.Checksum(p[:n], castagnoli)
}
