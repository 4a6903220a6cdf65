// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/binary"
	"math/bits"

	"github.com/zramfs/zramfs/codec"
)

// An Entry is one page's truth, loaded and stored atomically. From bit 0:
//
//	41  where the object begins, in units of 8 bytes from segment 0
//	12  length of the payload less one: bytes, or of a cluster whole units of 8
//	 5  codec.ID, or one of the same-filled kinds
//	 6  unused, 0
//
// The pages of a cluster have the same entry. A same-filled entry is all there is of its page: it
// uses the first 53 bits for its value and the last 6 for a checksum. Zero is a page that holds
// nothing.
// No single bit turns one kind of entry into another that passes for valid.
type Entry uint64

const (
	// WhereBits is how wide Entry.Where is, in units of Unit bytes.
	WhereBits = 41
	// ValueBits is how wide Entry.Value is.
	ValueBits = WhereBits + lengthBits
	// Codecs is how many values Entry.Codec has.
	Codecs = 1 << codecBits
	// MaxSegments is how many segments an entry can tell apart.
	MaxSegments = 1 << WhereBits * Unit / SegmentSize

	// ClusterPages is how many pages a cluster is made for: those from a multiple of it on.
	ClusterPages = codec.ClusterPages
	// MaxPayload is the length in bytes of the longest payload, which is a cluster's.
	MaxPayload = 1<<lengthBits*Unit + clusterOdd

	// clusterOdd is by how many bytes the payload of a cluster is longer than whole units: so it
	// ends where its footprint does.
	clusterOdd = Unit - HeaderSize%Unit

	lengthBits = 12
	codecShift = ValueBits
	codecBits  = 5
	checkShift = codecShift + codecBits
)

// Kinds of entry that own no object. They share the codec field, whose last
// four values codec leaves to the store.
const (
	SameSmall codec.ID = 28 + iota // the word itself, below 2^53
	SameHalf                       // a 32-bit value, twice
	SameSlot                       // a slot of the same-filled table
)

// Lost is the entry of a page whose object is lost. It is not valid, and
// stays so with any one bit flipped.
const Lost = ^Entry(0)

// ObjectEntry is the entry of an object at where with length bytes of payload, for a cluster as
// many as ClusterLength says.
func ObjectEntry(where uint64, id codec.ID, length int) Entry {
	if id == codec.PageDenseCluster {
		length /= Unit
	}
	return Entry(where/Unit | uint64(length-1)<<WhereBits | uint64(id)<<codecShift)
}

// ClusterLength is the length of the payload that a cluster's object of n bytes takes, in bytes:
// zeros follow it.
func ClusterLength(n int) int {
	return max(n+Unit-1-clusterOdd, Unit)&^(Unit-1) + clusterOdd
}

// SameEntry is a same-filled entry of one of the kinds.
func SameEntry(kind codec.ID, value uint64) Entry {
	return Entry(value | uint64(kind)<<codecShift).checked()
}

// WordEntry is the entry of a page filled with word, if it needs no slot.
func WordEntry(word uint64) (Entry, bool) {
	switch {
	case bits.Len64(word) <= ValueBits:
		return SameEntry(SameSmall, word), true
	case word>>32 == word&(1<<32-1):
		return SameEntry(SameHalf, word&(1<<32-1)), true
	}
	return 0, false
}

// DecodeEntry is the entry whose bytes p begins with.
func DecodeEntry(p []byte) Entry { return Entry(binary.LittleEndian.Uint64(p)) }

// DecodeSlot is the word of a slot of the same-filled table, whose 16 bytes p
// begins with, and whether the complement that follows confirms it.
func DecodeSlot(p []byte) (word uint64, intact bool) {
	word = binary.LittleEndian.Uint64(p)
	return word, binary.LittleEndian.Uint64(p[8:]) == ^word
}

// checked is a same-filled entry with its checksum: the exclusive or of the rest
// in groups of 6 bits, which every single bit changes.
func (e Entry) checked() Entry {
	e &= 1<<checkShift - 1
	sum := e
	for rest := e >> 6; rest != 0; rest >>= 6 {
		sum ^= rest
	}
	return e | sum<<checkShift
}

// Codec is the codec of the entry's object, or the kind of a same-filled entry.
func (e Entry) Codec() codec.ID { return codec.ID(e >> codecShift & (1<<codecBits - 1)) }

// Same reports whether the page is filled with one word.
func (e Entry) Same() bool { return e.Codec() >= SameSmall }

// Object reports whether the entry refers to an object.
func (e Entry) Object() bool { return e != 0 && !e.Same() }

// WrittenBack reports whether the entry refers to a stub, so that the page's bytes lie on the
// backing device.
func (e Entry) WrittenBack() bool { return e.Codec() == WrittenBack }

// Clustered reports whether the entry refers to an object that several pages share.
func (e Entry) Clustered() bool { return e.Codec() == codec.PageDenseCluster }

// Owner is the number of the page that the header of the object names which the entry of a page
// refers to: of a cluster the first page that it is made for.
func (e Entry) Owner(page uint64) uint64 {
	if e.Clustered() {
		return page &^ (ClusterPages - 1)
	}
	return page
}

// Plain is the entry of the same bytes as an object that names nothing else.
func (e Entry) Plain() Entry {
	const mask = (1<<codecBits - 1) << codecShift
	return e&^mask | Entry(codec.Raw)<<codecShift
}

// Value is what a same-filled entry holds: a word, half of one, or a slot.
func (e Entry) Value() uint64 { return uint64(e) & (1<<ValueBits - 1) }

// Word is what a same-filled entry without a slot is filled with.
func (e Entry) Word() uint64 {
	if e.Codec() == SameHalf {
		return e.Value() | e.Value()<<32
	}
	return e.Value()
}

// Where is the object's distance from segment 0, in bytes.
func (e Entry) Where() uint64 { return uint64(e) & (1<<WhereBits - 1) * Unit }

// Segment is the one that the object lies in.
func (e Entry) Segment() uint64 { return e.Where() / SegmentSize }

// Length is the payload's, in bytes.
func (e Entry) Length() int {
	n := int(e>>WhereBits&(1<<lengthBits-1)) + 1
	if e.Clustered() {
		return n*Unit + clusterOdd
	}
	return n
}

// Share is about what the page has of the payload, in bytes: all, but of a cluster a part.
func (e Entry) Share() int {
	if e.Clustered() {
		return e.Length() / ClusterPages
	}
	return e.Length()
}

// At is the same entry with its object elsewhere.
func (e Entry) At(where uint64) Entry {
	return e&^(1<<WhereBits-1) | Entry(where/Unit)
}

// Valid reports whether the entry can be one of an image with n segments.
func (e Entry) Valid(n uint64) bool {
	switch {
	case e == 0:
		return true
	case e.Same() && e != e.checked(), e.Codec() == codec.None:
		return false
	case e.Codec() == SameSmall:
		return true
	case e.Codec() == SameHalf:
		return e.Value() <= 1<<32-1
	case e.Codec() == SameSlot:
		return e.Value() < SameWords
	case e.Same():
		return false
	}
	return e.Segment() < n && e.Where()%SegmentSize+uint64(Footprint(e.Length())) <= SegmentSize
}
