// SPDX-License-Identifier: Apache-2.0

package zstd

import "encoding/binary"

// The parts of a frame that this package writes and checks itself: RFC 8878, sections 3.1.1.1 and
// 3.1.1.2.
const (
	// magic is Magic_Number.
	magic = 0xFD2FB528
	// singleSegment is the Single_Segment_flag of Frame_Header_Descriptor.
	singleSegment = 1 << 5
	// contentSize16 is the Frame_Content_Size_flag of Frame_Header_Descriptor for a field of 2
	// bytes.
	contentSize16 = 1 << 6
	// contentSizeBias is what a content size field of 2 bytes leaves out; smaller sizes have a
	// field of 1 byte.
	contentSizeBias = 256

	// dictionaryID32 is the Dictionary_ID_flag of Frame_Header_Descriptor for a field of 4 bytes.
	dictionaryID32 = 3

	// dictionaryIDSize is the length in bytes of the field that dictionaryID32 announces.
	dictionaryIDSize = 4
	// maxPlainHeader is the length in bytes of the header of a frame of 256 bytes and more without
	// a dictionary.
	maxPlainHeader = 7
	// maxFrameHeader is the same with one.
	maxFrameHeader = maxPlainHeader + dictionaryIDSize
	// blockHeaderSize is the length of Block_Header in bytes.
	blockHeaderSize = 3
)

// Block_Type.
const (
	blockRaw        = 0
	blockRLE        = 1
	blockCompressed = 2
)

// frameHeaderSize returns the length of the header of a frame that holds n bytes, without a
// dictionary.
func frameHeaderSize(n int) int {
	if n < contentSizeBias {
		return maxPlainHeader - 1
	}
	return maxPlainHeader
}

// putFrameHeader writes the header of a frame that holds n bytes (1 to MaxSize), made with
// dict or, if that is nil, without one, to dst and returns its length. Without a dictionary it
// is byte for byte the header that the library writes with this package's options, which a
// test compares; with one the field for its ID is always the long one.
func putFrameHeader(dst *[maxFrameHeader]byte, n int, dict *Dictionary) int {
	binary.LittleEndian.PutUint32(dst[:], magic)
	descriptor, at := byte(singleSegment), 5
	if dict != nil {
		descriptor |= dictionaryID32
		binary.LittleEndian.PutUint32(dst[at:], dict.id)
		at += dictionaryIDSize
	}
	if n < contentSizeBias {
		dst[at] = byte(n)
		at++
	} else {
		descriptor |= contentSize16
		binary.LittleEndian.PutUint16(dst[at:], uint16(n-contentSizeBias))
		at += 2
	}
	dst[4] = descriptor
	return at
}

// soleBlock reports whether object is, by its header, one block, the last of its frame, that ends
// where object ends and can hold n bytes. The library would read bytes behind the last block as a
// further frame, with a header that is not ours.
func soleBlock(object []byte, n int) bool {
	if len(object) <= blockHeaderSize || len(object) > n+blockHeaderSize && len(object) > MaxObject {
		return false
	}
	header := uint32(object[0]) | uint32(object[1])<<8 | uint32(object[2])<<16
	last, kind, size := header&1 != 0, header>>1&3, int(header>>3)
	content := len(object) - blockHeaderSize
	switch kind {
	case blockRaw:
		return last && size == content && size == n
	case blockRLE:
		return last && size == n && content == 1
	case blockCompressed:
		return last && size == content
	default:
		return false
	}
}
