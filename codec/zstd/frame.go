// SPDX-License-Identifier: Apache-2.0

package zstd

import "encoding/binary"

// The parts of a frame that this package writes and checks itself: RFC 8878, sections 3.1.1.1 and 3.1.1.2.
const (
	// magic is Magic_Number.
	magic = 0xFD2FB528
	// singleSegment is the Single_Segment_flag of Frame_Header_Descriptor.
	singleSegment = 1 << 5
	// contentSize16 is the Frame_Content_Size_flag of Frame_Header_Descriptor for a field of 2 bytes.
	contentSize16 = 1 << 6
	// contentSizeBias is what a content size field of 2 bytes leaves out; smaller sizes have a field of 1 byte.
	contentSizeBias = 256

	// maxFrameHeader is the length in bytes of the header of a frame of 256 bytes and more.
	maxFrameHeader = 7
	// blockHeaderSize is the length of Block_Header in bytes.
	blockHeaderSize = 3
)

// Block_Type.
const (
	blockRaw        = 0
	blockRLE        = 1
	blockCompressed = 2
)

// frameHeaderSize returns the length of the header of a frame that holds n bytes.
func frameHeaderSize(n int) int {
	if n < contentSizeBias {
		return maxFrameHeader - 1
	}
	return maxFrameHeader
}

// putFrameHeader writes the header of a frame that holds n bytes (1 to MaxSize) to dst and returns its length. It is
// byte for byte the header that the library writes with this package's options, which a test compares.
func putFrameHeader(dst *[maxFrameHeader]byte, n int) int {
	binary.LittleEndian.PutUint32(dst[:], magic)
	if n < contentSizeBias {
		dst[4] = singleSegment
		dst[5] = byte(n)
	} else {
		dst[4] = singleSegment | contentSize16
		binary.LittleEndian.PutUint16(dst[5:], uint16(n-contentSizeBias))
	}
	return frameHeaderSize(n)
}

// soleBlock reports whether object is, by its header, one block, the last of its frame, that ends where object ends and
// can hold n bytes. What follows the last block would be read as a further frame, with a header that is not ours.
func soleBlock(object []byte, n int) bool {
	if len(object) <= blockHeaderSize || len(object) > MaxObject {
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
