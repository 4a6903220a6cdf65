// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"encoding/binary"
	"math/bits"
)

// The format's numbers: a match repeats at least minMatch bytes, and the last tailLiterals bytes of
// a block are literals. The format wants a match to begin 12 bytes before the end at the latest;
// with one more, the eight bytes that a search compares never reach into the literals at the end.
const (
	minMatch     = 4
	tailLiterals = 5
	matchMargin  = 13
	escape       = 15 // a length in the token that says that bytes follow
	moreLength   = 255
)

// A table holds the position at which a hash was last seen. It is cleared for each page: position 0
// is where every hash was seen at first. An entry is only a guess, checked before use, but what
// stale entries would lead to would depend on the page before, and clearing 8 KiB takes one
// hundredth of a page's time.
type table [tableSize]uint16

const (
	tableBits = 12
	tableSize = 1 << tableBits
	// hashBits is how many bits are hashed: five bytes, and one bit that tells apart half of what
	// they would confuse. Fewer find matches that gain little, more miss the five-byte records of
	// databases.
	hashBits = 41
	// hashFactor is 2^64 over the golden ratio, moved so that the bits that are not hashed fall out
	// of the product.
	hashFactor = 0x9E3779B185EBCA87 << (64 - hashBits) & (1<<64 - 1)
	// stepShift slows a search down to look at everything: after 64 bytes without a match steps are
	// of 2 bytes, after 128 of 3.
	stepShift = 6
)

func hash(v uint64) uint64 { return v * hashFactor >> (64 - tableBits) }

func load(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// place is where an encoder stands: n bytes of the object are written, src has been read up to
// anchor, and a match was found at position at that repeats what is at from. No match begins at
// position 0: there at stands for the end of the search.
type place struct{ n, anchor, at, from int }

// encodeGeneric is the standard encoder.
func encodeGeneric(dst, src []byte, t *table) int {
	clear(t[:])
	at, from := find(src, t, 0, 1)
	return finish(dst, src, t, place{0, 0, at, from})
}

// finish goes on from p to the end of src and returns the length of the object, 0 if it does not
// fit.
func finish(dst, src []byte, t *table, p place) int {
	for p.at > 0 {
		n, end := emit(dst, src, p)
		if n == 0 {
			return 0
		}
		p.n, p.anchor = n, end
		if end > len(src)-matchMargin {
			break
		}
		t[hash(load(src, end-2))] = uint16(end - 2)
		p.at, p.from = find(src, t, end, end)
	}
	return emitLast(dst, p.n, src[p.anchor:])
}

// find returns the first match at ip or behind it, and at = 0 if there is none. The literals before
// it begin at anchor.
func find(src []byte, t *table, anchor, ip int) (at, from int) {
	for ip <= len(src)-matchMargin {
		v := load(src, ip)
		h := hash(v)
		from = int(t[h])
		t[h] = uint16(ip)
		if uint32(v) == binary.LittleEndian.Uint32(src[from:]) {
			return ip, from
		}
		ip += 1 + (ip-anchor)>>stepShift
	}
	return 0, 0
}

// emit writes the sequence of the match at p and returns where the object and the match end, or n =
// 0 if dst is too short.
func emit(dst, src []byte, p place) (n, end int) {
	end = matchEnd(src, p.at, p.from)
	literals, length := p.at-p.anchor, end-p.at-minMatch
	n = p.n
	// A sequence that needs no bytes of length and few for its literals, with space for eight of
	// these whatever their number.
	if literals <= 8 && length < escape && n+11 <= len(dst) {
		out := dst[n : n+11]
		out[0] = byte(literals<<4 | length)
		binary.LittleEndian.PutUint64(out[1:], load(src, p.anchor))
		binary.LittleEndian.PutUint16(out[1+literals:], uint16(p.at-p.from))
		return n + 3 + literals, end
	}
	if n+1+extra(literals)+literals+2+extra(length) > len(dst) {
		return 0, 0
	}
	dst[n] = byte(min(literals, escape)<<4 | min(length, escape))
	n = putExtra(dst, n+1, literals)
	n += copy(dst[n:], src[p.anchor:p.at])
	binary.LittleEndian.PutUint16(dst[n:], uint16(p.at-p.from))
	return putExtra(dst, n+2, length), end
}

// emitLast writes the literals that end a block, and returns where they end, 0 if dst is too short.
func emitLast(dst []byte, n int, literals []byte) int {
	if n+1+extra(len(literals))+len(literals) > len(dst) {
		return 0
	}
	dst[n] = byte(min(len(literals), escape) << 4)
	n = putExtra(dst, n+1, len(literals))
	return n + copy(dst[n:], literals)
}

// matchEnd returns where the match of at with from ends. The first four bytes are known to be
// equal.
func matchEnd(src []byte, at, from int) int {
	stop := len(src) - tailLiterals
	for ; at <= stop-8; at, from = at+8, from+8 {
		if x := load(src, at) ^ load(src, from); x != 0 {
			return at + bits.TrailingZeros64(x)/8
		}
	}
	for at < stop && src[at] == src[from] {
		at, from = at+1, from+1
	}
	return at
}

// extra returns how many bytes a length takes in addition to its part of the token.
func extra(length int) int {
	if length < escape {
		return 0
	}
	return (length-escape)/moreLength + 1
}

// putExtra writes these bytes and returns where they end.
func putExtra(dst []byte, n, length int) int {
	if length < escape {
		return n
	}
	for length -= escape; length >= moreLength; length -= moreLength {
		dst[n] = moreLength
		n++
	}
	dst[n] = byte(length)
	return n + 1
}
