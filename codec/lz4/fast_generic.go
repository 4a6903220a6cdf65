// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"encoding/binary"
	"math/bits"
)

// stride is what the fast encoder's positions are multiples of, except for the one where a match
// ends. Most of what a page repeats are words, and a match found in their midst is extended
// backwards.
const stride = 4

// maxBack is how many bytes a match of the fast encoder can grow at its beginning: as many as one
// comparison shows.
const maxBack = 8

// encodeFastGeneric is the fast encoder.
func encodeFastGeneric(dst, src []byte, t *table) int {
	clear(t[:])
	at, from := findAligned(src, t, 0, stride)
	return finishFast(dst, src, t, place{0, 0, at, from})
}

// finishFast goes on from p, as finish does.
func finishFast(dst, src []byte, t *table, p place) int {
	for p.at > 0 {
		n, end := emit(dst, src, p)
		if n == 0 {
			return 0
		}
		p.n, p.anchor = n, end
		if end > len(src)-matchMargin {
			break
		}
		p.at, p.from = findAligned(src, t, end, end)
	}
	return emitLast(dst, p.n, src[p.anchor:])
}

// findAligned looks at ip and then at multiples of stride, and returns what find does.
func findAligned(src []byte, t *table, anchor, ip int) (at, from int) {
	for ip <= len(src)-matchMargin {
		v := load(src, ip)
		h := hash(v)
		from = int(t[h])
		t[h] = uint16(ip)
		if uint32(v) == binary.LittleEndian.Uint32(src[from:]) {
			back := backwards(src, ip, from, ip-anchor)
			return ip - back, from - back
		}
		ip = (ip + stride*(1+(ip-anchor)>>stepShift)) &^ (stride - 1)
	}
	return 0, 0
}

// backwards returns how many bytes before at equal those before from, up to most and maxBack.
func backwards(src []byte, at, from, most int) int {
	if from >= maxBack {
		x := load(src, at-maxBack) ^ load(src, from-maxBack)
		return min(bits.LeadingZeros64(x)/8, most)
	}
	n := 0
	for n < min(from, most) && src[at-n-1] == src[from-n-1] {
		n++
	}
	return n
}
