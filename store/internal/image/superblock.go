// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Errors of an image that is not ours, or not as we left it.
var (
	// ErrMagic: the file does not hold a zramfs image.
	ErrMagic = errors.New("not a zramfs memory image")
	// ErrVersion: the image has a layout that this program does not read.
	ErrVersion = errors.New("memory image of another version")
	// ErrChecksum: the superblock is damaged.
	ErrChecksum = errors.New("superblock checksum mismatch")
	// ErrGeometry: the superblock's numbers contradict each other or the file.
	ErrGeometry = errors.New("impossible image geometry")
)

var (
	magic      = [8]byte{'z', 'r', 'a', 'm', 'f', 's', 'M', 'I'}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Superblock is what the image begins with. Immutable once written.
type Superblock struct {
	Magic       [8]byte
	Version     uint32
	PageSize    uint32
	SegmentSize uint32
	SameWords   uint32
	Disksize    uint64 // bytes
	Segments    uint64 // how many there can be
	Stubs       uint32 // 1 where pages may lie on a backing device, else 0
	Checksum    uint32 // CRC-32C of the fields before it
}

// NewSuperblock makes one for a device of disksize bytes with up to segments segments. Backed says
// that pages of the image may lie on a backing device.
func NewSuperblock(disksize, segments uint64, backed bool) Superblock {
	b := Superblock{
		Magic: magic, Version: Version, PageSize: PageSize, SegmentSize: SegmentSize,
		SameWords: SameWords, Disksize: disksize, Segments: segments,
	}
	if backed {
		b.Stubs = 1
	}
	return b
}

// Backed reports whether pages of the image may lie on a backing device.
func (b *Superblock) Backed() bool { return b.Stubs != 0 }

// Geometry is the layout that the superblock names.
func (b *Superblock) Geometry() Geometry { return NewGeometry(b.Disksize, b.Segments) }

// Encode returns the bytes of the superblock, with their checksum.
func (b *Superblock) Encode() []byte {
	p, err := binary.Append(nil, binary.LittleEndian, b)
	if err != nil {
		panic(err) // a struct of fixed-size integers always encodes
	}
	sum := len(p) - 4
	binary.LittleEndian.PutUint32(p[sum:], crc32.Checksum(p[:sum], castagnoli))
	return p
}

// DecodeSuperblock validates the first bytes of an image. It fails with ErrMagic,
// ErrVersion, ErrChecksum or ErrGeometry.
func DecodeSuperblock(p []byte) (Superblock, error) {
	var b Superblock
	if _, err := binary.Decode(p, binary.LittleEndian, &b); err != nil {
		return b, fmt.Errorf("read superblock: %w", ErrMagic)
	}
	sum := binary.Size(b) - 4
	switch {
	case b.Magic != magic:
		return b, ErrMagic
	case b.Version != Version:
		return b, fmt.Errorf("%w: version %d, this program reads %d", ErrVersion, b.Version, Version)
	case b.Checksum != crc32.Checksum(p[:sum], castagnoli):
		return b, ErrChecksum
	case b.PageSize != PageSize, b.SegmentSize != SegmentSize, b.SameWords != SameWords,
		b.Disksize == 0, b.Disksize > MaxDisksize, b.Disksize%PageSize != 0,
		b.Segments == 0, b.Segments > MaxSegments, b.Stubs > 1:
		return b, ErrGeometry
	}
	return b, nil
}
