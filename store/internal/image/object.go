// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/zramfs/zramfs/codec"
)

const (
	// Unit is the alignment of objects, in bytes.
	Unit = 8
	// HeaderSize is the size of a Header, in bytes.
	HeaderSize = 12
	// MaxFootprint is the footprint of a page that does not compress, in bytes.
	MaxFootprint = (HeaderSize + PageSize + Unit - 1) &^ (Unit - 1)
	// RawPerSegment is how many such pages fit into a segment.
	RawPerSegment = SegmentSize / MaxFootprint
)

// Header stands before each object's payload. The checksum covers the rest of
// the header and the payload, so that an object is good for one page, one
// length and one codec only. Length 0 marks the end of what a segment holds.
// A freed object keeps its page and length, so that a segment can be walked.
type Header struct {
	Checksum uint32 // CRC-32C
	Page     uint32
	Length   uint16 // of the payload, bytes
	Codec    codec.ID
	Members  uint8 // of a cluster: bit n says that it has the nth of the pages from Page on
}

// Matches reports whether the header is of the object that an entry of page
// refers to.
func (h *Header) Matches(page uint64, e Entry) bool {
	return uint64(h.Page) == e.Owner(page) && int(h.Length) == e.Length() && h.Codec == e.Codec() && (!e.Clustered() || h.Members>>(page%ClusterPages)&1 != 0)
}

// Follows reports whether the header can be of an object, so that the next one begins behind it.
func (h *Header) Follows() bool {
	if h.Codec == codec.PageDenseCluster {
		return int(h.Length) >= ClusterLength(1) && int(h.Length)%Unit == clusterOdd && int(h.Length) <= MaxPayload && h.Page%ClusterPages == 0
	}
	return h.Length > 0 && h.Length <= PageSize
}

// Footprint is what an object with n bytes of payload takes of a segment, in bytes.
func Footprint(n int) int { return (HeaderSize + n + Unit - 1) &^ (Unit - 1) }

// Seal is the checksum that the header of a page's object holds.
func Seal(page uint64, id codec.ID, packed []byte) uint32 {
	var h [HeaderSize]byte
	binary.LittleEndian.PutUint32(h[4:], uint32(page))
	binary.LittleEndian.PutUint16(h[8:], uint16(len(packed)))
	h[10] = byte(id)
	return crc32.Update(crc32.Checksum(h[4:], castagnoli), castagnoli, packed)
}

// Proves reports whether p, header and payload, is intact and the object that an
// entry of page refers to.
func Proves(p []byte, page uint64, e Entry) bool {
	n := e.Length()
	h := Header{Page: binary.LittleEndian.Uint32(p[4:]), Length: binary.LittleEndian.Uint16(p[8:]), Codec: codec.ID(p[10]), Members: p[11]}
	return h.Matches(page, e) && binary.LittleEndian.Uint32(p) == crc32.Checksum(p[4:HeaderSize+n], castagnoli)
}
