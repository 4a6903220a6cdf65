// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/zramfs/zramfs/codec"
)

// This file alone knows the bytes of the image. Everything in it is an offset
// or a number: no layout type holds a pointer, and a test walks them to prove
// it. All integers are little-endian; the image never leaves the machine, and
// both architectures that we build for are little-endian.
//
//	0          superblock                   a quarter of a page
//	1 KiB      errors                       count, first and last time of each kind
//	2 KiB      renewals                     one 8-byte count a set of same-filled words
//	4 KiB      same-filled words            sameWords x (word, its complement)
//	...        presence bitmap              one bit an index page
//	...        index                        one 8-byte entry a page
//	...        segments                     SegmentSize each, aligned to it

const (
	// PageSize is the unit of storage, in bytes.
	PageSize = codec.PageSize

	// MaxDisksize is the largest device, in bytes: 2^32 pages, since an
	// object's header names its page in 32 bits.
	MaxDisksize = 16 << 40

	// SegmentSize is the unit in which memory is taken and given back, in
	// bytes. Larger ones lose less at their end (half an object each),
	// smaller ones are empty sooner.
	SegmentSize = 256 << 10

	layoutVersion  = 1
	sameWords      = 2048         // bound of the same-filled table
	indexPerPage   = PageSize / 8 // entries in one page of the index
	unit           = 8            // object alignment, bytes
	headerSize     = 12           // bytes before an object's payload
	maxFootprint   = (headerSize + PageSize + unit - 1) &^ (unit - 1)
	errorsOffset   = PageSize / 4 // as is the case with renewals
	renewalsOffset = PageSize / 2 // what wrote an image before there were renewals left it clear
	sameOffset     = PageSize
	bitmapOffset   = sameOffset + sameWords*16
	pagesPerSeg    = SegmentSize / maxFootprint // raw pages that fit
)

var magic = [8]byte{'z', 'r', 'a', 'm', 'f', 's', 'M', 'I'}

// Errors of opening an image that is not ours, or not as we left it.
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

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// superblock is the first page of the image. Immutable once written.
type superblock struct {
	Magic       [8]byte
	Version     uint32
	PageSize    uint32
	SegmentSize uint32
	SameWords   uint32
	Disksize    uint64 // bytes
	Segments    uint64 // how many there can be
	Checksum    uint32 // CRC-32C of the fields before it
	_           uint32
}

// geometry says where everything lies, derived from the superblock's numbers.
// Immutable.
type geometry struct {
	pages       uint64 // of the device
	indexPages  uint64 // pages that the whole index would take
	segments    uint64
	indexOffset int64
	dataOffset  int64
	size        int64 // of the image, virtual, bytes
}

func newGeometry(disksize, segments uint64) geometry {
	g := geometry{pages: disksize / PageSize, segments: segments}
	g.indexPages = (g.pages + indexPerPage - 1) / indexPerPage
	bitmap := roundUp((g.indexPages+63)/64*8, PageSize)
	g.indexOffset = int64(bitmapOffset + bitmap)
	g.dataOffset = int64(roundUp(uint64(g.indexOffset)+g.indexPages*PageSize, SegmentSize))
	g.size = g.dataOffset + int64(segments*SegmentSize)
	return g
}

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

func (b *superblock) encode() []byte {
	p, err := binary.Append(nil, binary.LittleEndian, b)
	if err != nil {
		panic(err) // a struct of fixed-size integers always encodes
	}
	sum := len(p) - 8
	binary.LittleEndian.PutUint32(p[sum:], crc32.Checksum(p[:sum], castagnoli))
	return p
}

// decodeSuperblock validates the first bytes of an image.
func decodeSuperblock(p []byte) (superblock, error) {
	var b superblock
	if _, err := binary.Decode(p, binary.LittleEndian, &b); err != nil {
		return b, fmt.Errorf("read superblock: %w", ErrMagic)
	}
	sum := binary.Size(b) - 8
	switch {
	case b.Magic != magic:
		return b, ErrMagic
	case b.Version != layoutVersion:
		return b, fmt.Errorf("%w: version %d, this program reads %d", ErrVersion, b.Version, layoutVersion)
	case b.Checksum != crc32.Checksum(p[:sum], castagnoli):
		return b, ErrChecksum
	case b.PageSize != PageSize, b.SegmentSize != SegmentSize, b.SameWords != sameWords,
		b.Disksize == 0, b.Disksize > MaxDisksize, b.Disksize%PageSize != 0,
		b.Segments == 0, b.Segments > maxSegments:
		return b, ErrGeometry
	}
	return b, nil
}

// An entry is one page's truth, loaded and stored atomically. From bit 0:
//
//	41  where the object begins, in units of 8 bytes from the first segment
//	12  length of the object's payload less one, bytes
//	 5  codec.ID, or one of the same-filled kinds
//	 2  position in a cluster of four pages (0 today)
//	 4  age, for recompression of what has gone cold (0 today)
//
// A same-filled entry is all there is of its page: it uses the first 53 bits for
// its value and the last 6 for a checksum. Zero is a page that holds nothing.
// No single bit turns one kind of entry into another that passes for possible.
type entry uint64

const (
	whereBits   = 41
	lengthBits  = 12
	valueBits   = whereBits + lengthBits
	codecShift  = valueBits
	codecBits   = 5
	checkShift  = codecShift + codecBits
	maxSegments = 1 << whereBits * unit / SegmentSize
)

// Kinds of entry that own no object. They share the codec field, whose last
// four values codec leaves to the store.
const (
	sameSmall    codec.ID = 28 + iota // the word itself, below 2^53
	sameHalf                          // a 32-bit value, twice
	sameWordSlot                      // a slot of the same-filled table
)

func objectEntry(where uint64, id codec.ID, length int) entry {
	return entry(where/unit | uint64(length-1)<<whereBits | uint64(id)<<codecShift)
}

func sameEntry(kind codec.ID, value uint64) entry {
	return entry(value | uint64(kind)<<codecShift).checked()
}

// checked is a same-filled entry with its checksum: the exclusive or of the rest
// in groups of 6 bits, which every single bit changes.
func (e entry) checked() entry {
	e &= 1<<checkShift - 1
	sum := e
	for rest := e >> 6; rest != 0; rest >>= 6 {
		sum ^= rest
	}
	return e | sum<<checkShift
}

func (e entry) codec() codec.ID { return codec.ID(e >> codecShift & (1<<codecBits - 1)) }
func (e entry) same() bool      { return e.codec() >= sameSmall }
func (e entry) object() bool    { return e != 0 && !e.same() }
func (e entry) value() uint64   { return uint64(e) & (1<<valueBits - 1) }

// where is the object's distance from the first segment, in bytes.
func (e entry) where() uint64   { return uint64(e) & (1<<whereBits - 1) * unit }
func (e entry) segment() uint64 { return e.where() / SegmentSize }

// at is the same entry with its object elsewhere.
func (e entry) at(where uint64) entry {
	return e&^(1<<whereBits-1) | entry(where/unit)
}

// lostEntry is that of a page whose object cannot be found any more. It is impossible, and stays
// so with any one bit flipped.
const lostEntry = ^entry(0)

// length is the payload's, in bytes.
func (e entry) length() int { return int(e>>whereBits&(1<<lengthBits-1)) + 1 }

// footprint is what an object with n bytes of payload takes of a segment.
func footprint(n int) int { return (headerSize + n + unit - 1) &^ (unit - 1) }

// valid reports whether the entry can be one of an image with n segments.
func (e entry) valid(n uint64) bool {
	switch {
	case e == 0:
		return true
	case e.same() && e != e.checked(), e.codec() == codec.None:
		return false
	case e.codec() == sameSmall:
		return true
	case e.codec() == sameHalf:
		return e.value() <= 1<<32-1
	case e.codec() == sameWordSlot:
		return e.value() < sameWords
	case e.same():
		return false
	}
	return e.segment() < n && e.where()%SegmentSize+uint64(footprint(e.length())) <= SegmentSize
}

// header stands before each object's payload. The checksum covers the rest of
// the header and the payload, so that an object is good for one page, one
// length and one codec only. Length 0 marks the end of what a segment holds.
// A freed object keeps its page and length, so that a segment can be walked.
type header struct {
	Checksum uint32 // CRC-32C
	Page     uint32
	Length   uint16 // of the payload, bytes
	Codec    codec.ID
	_        uint8
}

// image gives the memory its types. The three views below and headerAt are the
// only unsafe code of the store. They are sound because the memory stays
// mapped until Close, is page-aligned, and every offset is a multiple of 8
// (headers: of 4) that was checked against the geometry.
type image struct {
	geometry
	mem []byte // immutable slice header; bytes as the package comment says
}

// words views n 8-byte words at off as atomics.
func (m *image) words(off int64, n uint64) []atomic.Uint64 {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&m.mem[off])), n)
}

func (m *image) index() []atomic.Uint64    { return m.words(m.indexOffset, m.pages) }
func (m *image) bitmap() []atomic.Uint64   { return m.words(bitmapOffset, (m.indexPages+63)/64) }
func (m *image) same() []atomic.Uint64     { return m.words(sameOffset, 2*sameWords) }
func (m *image) errors() []atomic.Uint64   { return m.words(errorsOffset, errorKinds*errorWords) }
func (m *image) renewals() []atomic.Uint64 { return m.words(renewalsOffset, sameWords/sameWays) }

// headerAt views the header of the object at where.
func (m *image) headerAt(where uint64) *header {
	return (*header)(unsafe.Pointer(&m.mem[m.dataOffset+int64(where)]))
}

// payload is the n bytes behind the header at where.
func (m *image) payload(where uint64, n int) []byte {
	off := m.dataOffset + int64(where) + headerSize
	return m.mem[off : off+int64(n) : off+int64(n)]
}

// checksum is what the header at where has to say for n bytes of payload.
func (m *image) checksum(where uint64, n int) uint32 {
	off := m.dataOffset + int64(where)
	return crc32.Checksum(m.mem[off+4:off+headerSize+int64(n)], castagnoli)
}

// segmentBytes is the whole of segment n.
func (m *image) segmentBytes(n uint64) []byte {
	off := m.dataOffset + int64(n*SegmentSize)
	return m.mem[off : off+SegmentSize : off+SegmentSize]
}

// sameWord finds the entry for a page filled with word, if it needs no table.
func sameWord(word uint64) (entry, bool) {
	switch {
	case bits.Len64(word) <= valueBits:
		return sameEntry(sameSmall, word), true
	case word>>32 == word&(1<<32-1):
		return sameEntry(sameHalf, word&(1<<32-1)), true
	}
	return 0, false
}
