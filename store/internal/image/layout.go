// SPDX-License-Identifier: Apache-2.0

package image

import "github.com/zramfs/zramfs/codec"

const (
	// PageSize is the unit of storage, in bytes.
	PageSize = codec.PageSize

	// MaxDisksize is the largest device, in bytes: 2^32 pages, since a header
	// names its page in 32 bits.
	MaxDisksize = 16 << 40

	// SegmentSize is the unit in which the store takes memory and gives it back,
	// in bytes. A larger segment loses less at its end (half an object each), a
	// smaller one is empty sooner.
	SegmentSize = 256 << 10

	// Version is the number of this layout and of the formats of what lies in it. A program reads
	// no image of another number.
	Version = 5

	// EntriesPerPage is how many entries one page of the index holds.
	EntriesPerPage = PageSize / 8

	// SameWords is how many words the same-filled table holds.
	SameWords = 2048
	// SameWays is how many of them make a set.
	SameWays = 8

	// ErrorKinds is how many kinds of error the image counts.
	ErrorKinds = 4
	// ErrorWords is how many words each kind takes: count, time of the first and
	// of the last, in Unix nanoseconds.
	ErrorWords = 3
)

const (
	errorsOffset   = PageSize / 4
	renewalsOffset = PageSize / 2
	sameOffset     = PageSize
	slotSize       = 16 // a word and its complement
	bitmapOffset   = sameOffset + SameWords*slotSize
)

// Geometry says where everything lies, derived from the superblock's numbers.
// Immutable.
type Geometry struct {
	Pages       uint64 // of the device
	IndexPages  uint64 // pages that the whole index would take
	Segments    uint64
	ageOffset   int64 // where the table of ages begins, a byte for each page of the device
	IndexOffset int64 // where the index begins: what lies before it always exists
	dataOffset  int64 // where segment 0 begins
	Size        int64 // of the image, virtual, bytes
}

// NewGeometry lays out a device of disksize bytes with up to segments segments.
func NewGeometry(disksize, segments uint64) Geometry {
	g := Geometry{Pages: disksize / PageSize, Segments: segments}
	g.IndexPages = (g.Pages + EntriesPerPage - 1) / EntriesPerPage
	bitmap := roundUp((g.IndexPages+63)/64*8, PageSize)
	g.IndexOffset = int64(bitmapOffset + bitmap)
	g.dataOffset = int64(roundUp(uint64(g.IndexOffset)+g.IndexPages*PageSize, SegmentSize))
	g.ageOffset = g.SegmentAt(segments)
	g.Size = g.AgePageAt(g.AgePages())
	return g
}

// AgePages is how many pages of memory the whole table of ages takes.
func (g *Geometry) AgePages() uint64 { return (g.Pages + PageSize - 1) / PageSize }

// AgePageAt is where page n of the table lies in the image.
func (g *Geometry) AgePageAt(n uint64) int64 { return g.ageOffset + int64(n*PageSize) }

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// EntryAt is where the entry of a page lies in the image.
func (g *Geometry) EntryAt(page uint64) int64 { return g.IndexOffset + int64(page*8) }

// IndexPageAt is where index page n lies in the image.
func (g *Geometry) IndexPageAt(n uint64) int64 { return g.IndexOffset + int64(n*PageSize) }

// EntryPage is the page whose entry lies at off, or the next one; at least Pages
// beyond the index.
func (g *Geometry) EntryPage(off int64) uint64 { return uint64(off-g.IndexOffset) / 8 }

// SegmentAt is where segment n begins in the image.
func (g *Geometry) SegmentAt(n uint64) int64 { return g.dataOffset + int64(n*SegmentSize) }

// ObjectAt is where an object lies in the image, by its distance from segment 0.
func (g *Geometry) ObjectAt(where uint64) int64 { return g.dataOffset + int64(where) }

// SlotAt is where a slot of the same-filled table lies in the image; see DecodeSlot.
func SlotAt(slot uint64) int64 { return sameOffset + int64(slot*slotSize) }

// RenewalsAt is where the renewals of a slot's set are counted in the image.
func RenewalsAt(slot uint64) int64 { return renewalsOffset + int64(slot/SameWays*8) }
