// SPDX-License-Identifier: Apache-2.0

package lz4

import "encoding/binary"

// The margins of the assembly, which codec/_asm/lz4 has as well: it decodes a sequence that begins
// that many bytes before the ends of dst and src. In shorter buffers, which may be nil and so lie
// at address 0, the limits that it computes from them would mean nothing.
const (
	writeMargin = 32
	readMargin  = 18
)

// decodeGeneric fills dst from the block src and reports whether src is a block of exactly that
// many bytes.
func decodeGeneric(dst, src []byte) bool { return decodeFrom(dst, src, 0, 0) }

// decodeFrom decodes the sequences that begin at src[read:], where written bytes of dst are filled
// already.
func decodeFrom(dst, src []byte, written, read int) bool {
	for read < len(src) {
		token := int(src[read])
		literals, from, ok := lengthAt(src, read+1, token>>4)
		if read = from; !ok || literals > len(src)-read || literals > len(dst)-written {
			return false
		}
		// The words that a short run is in are copied whole where there is space, which is quicker
		// than to copy just that many bytes.
		if literals <= 8 && len(src)-read >= 8 && len(dst)-written >= 8 {
			binary.LittleEndian.PutUint64(dst[written:], load(src, read))
		} else {
			copy(dst[written:], src[read:read+literals])
		}
		written, read = written+literals, read+literals
		if read == len(src) {
			// Only the last sequence has no match.
			return written == len(dst)
		}
		if len(src)-read < 2 {
			return false
		}
		distance := int(binary.LittleEndian.Uint16(src[read:]))
		length, end, ok := lengthAt(src, read+2, token&15)
		length += minMatch
		if !ok || distance == 0 || distance > written || length > len(dst)-written {
			return false
		}
		repeat(dst, written, distance, length)
		written, read = written+length, end
	}
	return false
}

// lengthAt returns the length that begins with half a token and goes on at src[read:], and where
// that ends.
func lengthAt(src []byte, read, half int) (length, end int, ok bool) {
	if half < escape {
		return half, read, true
	}
	return readExtra(src, read)
}

// readExtra adds up the bytes of a length at src[read:] and returns the length and where they end.
// The sum stays below 255 times the number of bytes, which no object makes too large for an int.
func readExtra(src []byte, read int) (length, end int, ok bool) {
	length = escape
	for read < len(src) {
		b := src[read]
		read++
		if length += int(b); b != moreLength {
			return length, read, true
		}
	}
	return 0, read, false
}

// repeat writes length bytes to dst[at:], each a copy of the one that lies distance before it. It
// may write up to 15 more that lie within dst.
func repeat(dst []byte, at, distance, length int) {
	if distance >= 8 && length <= 16 && len(dst)-at >= 16 {
		binary.LittleEndian.PutUint64(dst[at:], load(dst, at-distance))
		binary.LittleEndian.PutUint64(dst[at+8:], load(dst, at-distance+8))
		return
	}
	// The bytes written so far are a whole number of distances: they can be copied as one, doubling
	// with each turn.
	from, end := at-distance, at+length
	for at < end {
		at += copy(dst[at:end], dst[from:at])
	}
}
