// SPDX-License-Identifier: Apache-2.0

package page

import "encoding/binary"

// scratchMargin is how far beyond a damaged object the lanes may be read: those of as many symbols
// as unpack allows, in codes of maxCode bits, and a word.
const scratchMargin = Size

// A scratch holds an object with slack behind it, so that all lanes can be read, whatever the
// object says, without a check where they end.
type scratch [scratchMargin + Size + scratchMargin]byte

// Positions say where in the scratch the lanes go on, in bits. For lanes 1 and 3, which go
// backwards, it is how many bits lie before.
type positions [lanes]int

// readFunc decodes as many symbols as are wanted of a segment to dst, where it may write as many
// more as a block has. The names are what the symbols stand for, or nil where that is themselves.
// Wherever positions may get to by that there must be a scratch.
type readFunc func(s []byte, p *positions, decode *[1 << maxCode]uint16, names *[maxSymbols]byte, dst []byte)

func readGeneric(s []byte, p *positions, decode *[1 << maxCode]uint16, names *[maxSymbols]byte, dst []byte) {
	if names == nil {
		names = &bytesNames
	}
	for ; len(dst) > 0; dst = dst[min(block, len(dst)):] {
		w0, w1, w2, w3 := forward(s, p[0]), backward(s, p[1]), forward(s, p[2]), backward(s, p[3])
		var n0, n1, n2, n3 uint16
		now := dst[:min(block, len(dst))]
		for ; len(now) >= lanes; now = now[lanes:] {
			e0, e1, e2, e3 := decode[w0%(1<<maxCode)], decode[w1%(1<<maxCode)], decode[w2%(1<<maxCode)], decode[w3%(1<<maxCode)]
			now[0], now[1], now[2], now[3] = names[e0>>lengthBits], names[e1>>lengthBits], names[e2>>lengthBits], names[e3>>lengthBits]
			w0, w1, w2, w3 = w0>>(e0&lengthMask), w1>>(e1&lengthMask), w2>>(e2&lengthMask), w3>>(e3&lengthMask)
			n0, n1, n2, n3 = n0+e0&lengthMask, n1+e1&lengthMask, n2+e2&lengthMask, n3+e3&lengthMask
		}
		n := [lanes]uint16{n0, n1, n2, n3}
		for i, w := range []uint64{w0, w1, w2}[:len(now)] {
			e := decode[w%(1<<maxCode)]
			now[i] = names[e>>lengthBits]
			n[i] += e & lengthMask
		}
		p[0], p[1], p[2], p[3] = p[0]+int(n[0]), p[1]-int(n[1]), p[2]+int(n[2]), p[3]-int(n[3])
	}
}

// bytesNames are the names of bytes. It is immutable once made.
var bytesNames = func() (names [maxSymbols]byte) {
	for b := range 256 {
		names[b] = byte(b)
	}
	return names
}()

// forward returns the next bits at a position, at least 57.
func forward(s []byte, position int) uint64 {
	return binary.LittleEndian.Uint64(s[position>>3:]) >> (position & 7)
}

// backward returns them of a lane that goes backwards.
func backward(s []byte, position int) uint64 {
	return binary.BigEndian.Uint64(s[(position+7)>>3-8:]) >> (-position & 7)
}

// A denseUnpacker is the room that a dense object's streams are decoded in.
type denseUnpacker struct {
	scratch   scratch
	positions positions
	names     [maxSymbols]byte // of the tokens: the favourites behind the bytes
	nears     int              // how many near bytes the last object had
	tokens    [Size + block]byte
	literals  [Size + block]byte
	distances [Size + block]byte
	farLow    [Size/2 + block]byte
	farHigh   [Size/2 + block]byte
}

// unpack finds the streams of an object. It reports false if they cannot be there.
func (u *denseUnpacker) unpack(object []byte, read readFunc) (s streams, ok bool) {
	if len(object) < denseHeader || len(object) > MaxObject {
		return s, false
	}
	counts := int(object[0]) | int(object[1])<<8 | int(object[2])<<16
	var chosen [segments]*code
	choice := int(object[3])
	for i := range chosen {
		chosen[i] = codes[i][choice&(1<<choiceBits[i]-1)]
		choice >>= choiceBits[i]
	}
	at := denseHeader + chosen[tokenSegment].favourites
	border := int(int8(object[4]))
	region0 := (len(object)-at)>>1 + border
	if region0 < 0 || at+region0 > len(object) {
		return s, false
	}
	if u.names[1] == 0 {
		u.names = bytesNames
	}
	copy(u.names[256:], object[denseHeader:at])
	copy(u.scratch[scratchMargin:], object)
	middle := 8 * (scratchMargin + at + region0)
	u.positions = positions{8 * (scratchMargin + at), middle, middle, 8 * (scratchMargin + len(object))}

	s.literals, s.tokens = u.literals[:counts&0xfff], u.tokens[:counts>>12]
	read(u.scratch[:], &u.positions, &chosen[tokenSegment].decode, &u.names, s.tokens)
	read(u.scratch[:], &u.positions, &chosen[literalSegment].decode, nil, s.literals)
	nears, fars := countDistances(s.tokens)
	if nears+2*fars > Size {
		return s, false
	}
	u.nears, s.distances = nears, u.distances[:nears+2*fars]
	read(u.scratch[:], &u.positions, &chosen[nearSegment].decode, nil, s.distances[:nears])
	read(u.scratch[:], &u.positions, &chosen[farLowSegment].decode, nil, u.farLow[:fars])
	read(u.scratch[:], &u.positions, &chosen[farHighSegment].decode, nil, u.farHigh[:fars])
	words := s.distances[nears:]
	for i := range fars {
		last := len(words) - 2
		words[last], words[last+1] = u.farLow[i], u.farHigh[i]
		words = words[:last]
	}
	return s, u.readWhole(border)
}

// readWhole reports whether the lanes ended where they should: in each region next to one another,
// or less where that region was made larger for the border's sake.
func (u *denseUnpacker) readWhole(border int) bool {
	p := &u.positions
	left0, left1 := p[1]>>3-(p[0]+7)>>3, p[3]>>3-(p[2]+7)>>3
	return (left0 == 0 || left0 > 0 && border == minBorder) && (left1 == 0 || left1 > 0 && border == maxBorder)
}
