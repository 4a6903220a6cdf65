// SPDX-License-Identifier: Apache-2.0

package image

import (
	"hash/crc32"
	"sync/atomic"
	"unsafe"
)

// Image gives the memory its types. words and HeaderAt are the only unsafe code
// of the image. They are sound because the memory stays mapped while the Image is
// in use, is page-aligned, and every offset is a multiple of 8 (headers: of 4)
// that was checked against the geometry.
type Image struct {
	Geometry
	Mem []byte // immutable slice header; bytes as the package comment of store says
}

// Counter views the 8 bytes at off of mapped memory, a multiple of 8, as an atomic.
func Counter(mem []byte, off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&mem[off : off+8][0]))
}

// words views n 8-byte words at off as atomics.
func (m *Image) words(off int64, n uint64) []atomic.Uint64 {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&m.Mem[off])), n)
}

// Index views the entries of all pages. Entries in index pages that do not exist must
// not be touched.
func (m *Image) Index() []atomic.Uint64 { return m.words(m.IndexOffset, m.Pages) }

// Bitmap views the bits that say which index pages exist.
func (m *Image) Bitmap() []atomic.Uint64 { return m.words(bitmapOffset, (m.IndexPages+63)/64) }

// SameTable views the same-filled table: slot n is a word at 2n and its complement
// at 2n+1.
func (m *Image) SameTable() []atomic.Uint64 { return m.words(sameOffset, 2*SameWords) }

// Renewals views the counts of words that each set of the same-filled table got.
func (m *Image) Renewals() []atomic.Uint64 { return m.words(renewalsOffset, SameWords/SameWays) }

// Errors views the counts of errors: ErrorWords for each kind.
func (m *Image) Errors() []atomic.Uint64 { return m.words(errorsOffset, ErrorKinds*ErrorWords) }

// Ages views the table of a byte for each page, eight in a word, and the same as bytes. Pages of it
// that do not exist must not be touched.
func (m *Image) Ages() (words []atomic.Uint64, bytes []byte) {
	off := m.AgePageAt(0)
	return m.words(off, (m.Pages+7)/8), m.Mem[off : off+int64(m.Pages) : off+int64(m.Pages)]
}

// HeaderAt views the header of the object at where.
func (m *Image) HeaderAt(where uint64) *Header {
	return (*Header)(unsafe.Pointer(&m.Mem[m.dataOffset+int64(where)]))
}

// Payload is the n bytes behind the header at where.
func (m *Image) Payload(where uint64, n int) []byte {
	off := m.dataOffset + int64(where) + HeaderSize
	return m.Mem[off : off+int64(n) : off+int64(n)]
}

// Checksum is what the header at where has to say for n bytes of payload.
func (m *Image) Checksum(where uint64, n int) uint32 {
	off := m.dataOffset + int64(where)
	return crc32.Checksum(m.Mem[off+4:off+HeaderSize+int64(n)], castagnoli)
}

// SegmentBytes is the whole of segment n.
func (m *Image) SegmentBytes(n uint64) []byte {
	off := m.dataOffset + int64(n*SegmentSize)
	return m.Mem[off : off+SegmentSize : off+SegmentSize]
}
