// SPDX-License-Identifier: Apache-2.0

package main

import "encoding/binary"

// A verdict is what the LZ4 block format says of some bytes.
type verdict int

const (
	// valid is a block of the length asked for.
	valid verdict = iota
	// sloppy is one at whose end something is odd that a decoder may refuse or overlook: less than
	// five literals there, a match that starts in the last twelve bytes, or a match length in the
	// last token, which has no match.
	sloppy
	// zeroOffset is a block with a match at distance 0, which the format forbids. liblz4 does not
	// look.
	zeroOffset
	// broken is anything else.
	broken
)

// reference decodes an LZ4 block to exactly len(dst) bytes as slowly and plainly as can be, and
// says what it is. Its output counts for valid and sloppy blocks.
func reference(dst, src []byte) verdict {
	r, at := reader{src, true}, 0
	worst, lastMatch := valid, -1
	for {
		token := r.byte()
		literals := r.length(int(token >> 4))
		if !r.ok || literals > len(r.rest) || literals > len(dst)-at {
			return broken
		}
		at += copy(dst[at:], r.rest[:literals])
		if r.rest = r.rest[literals:]; len(r.rest) == 0 {
			return ending(worst, at == len(dst), token&15 == 0 && (lastMatch < 0 || literals >= 5 && lastMatch <= at-12))
		}
		distance := r.distance()
		length := r.length(int(token&15)) + 4
		if !r.ok || distance > at || length > len(dst)-at {
			return broken
		}
		if distance == 0 {
			worst = zeroOffset
		}
		lastMatch = at
		for range length {
			dst[at] = dst[at-distance]
			at++
		}
	}
}

// ending judges how a block ends that has no other fault than worst.
func ending(worst verdict, full, proper bool) verdict {
	switch {
	case !full:
		return broken
	case worst == valid && !proper:
		return sloppy
	default:
		return worst
	}
}

// A reader reads the parts of a block; ok turns false where they end too early.
type reader struct {
	rest []byte
	ok   bool
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.ok = false
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) distance() int {
	return int(binary.LittleEndian.Uint16([]byte{r.byte(), r.byte()}))
}

// length reads the bytes that go on a length of 15.
func (r *reader) length(n int) int {
	for b := byte(255); n >= 15 && b == 255 && r.ok; {
		b = r.byte()
		n += int(b)
	}
	return n
}
