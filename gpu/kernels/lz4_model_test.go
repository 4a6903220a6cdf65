// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"encoding/binary"
)

// The models are the kernels' algorithms in Go: what a warp does at once is a loop over its lanes.
// That of the compressor is [Encoder].

// modelLZ4 decompresses as the kernel does: short sequences in one step of the warp, everything
// else carefully.
func modelLZ4(object []byte) (page []byte, ok bool) {
	in := append(append([]byte(nil), object...), make([]byte, lz4Pad)...)
	n, at, ip := len(object), 0, 1
	page = make([]byte, PageSize)
	if n == 0 || n > MaxLZ4Object {
		return nil, false
	}
	for token := int(in[0]); ; {
		literals, length, size := token>>4, token&15+minMatch, 3
		word := int(binary.LittleEndian.Uint32(in[ip+literals:]))
		distance, next := word&0xffff, word>>16&255
		isLong := length == escape+minMatch
		if isLong {
			length, next, size = length+next, word>>24, 4
		}
		middle, following := at+literals, ip+literals+size
		rare := literals == escape || isLong && length == escape+minMatch+255
		if rare || ip+literals > n-4 || middle+length > PageSize || uint(distance-1) >= uint(middle) {
			if token, ip, at, ok = modelLZ4Slow(in, page, n, token, ip, at); token < 0 {
				return page, ok && at == PageSize
			}
			continue
		}
		if isLong {
			copy(page[at:], in[ip:ip+literals])
			modelMatch(page, middle, distance, length)
		} else {
			modelStep(page[:middle+length], in[ip:], at, literals, distance)
		}
		token, ip, at = next, following, middle+length
	}
}

// modelStep writes a sequence from at to the end of page.
func modelStep(page, in []byte, at, literals, distance int) {
	var step [lanes]byte
	for lane := range len(page) - at {
		s := lane
		if lane >= literals {
			s = modelPeriod(lane-literals, distance) + literals - distance
		}
		if step[lane] = in[max(s, 0)]; s < 0 {
			step[lane] = page[at+s]
		}
	}
	copy(page[at:], step[:])
}

// modelMatch writes a match. Only what was there before it is read: no lane waits for another.
func modelMatch(page []byte, at, distance, length int) {
	for lane := range lanes {
		m, step := lane%distance, lanes%distance
		for k := lane; k < length; k += lanes {
			page[at+k] = page[at-distance+m]
			if m += step; m >= distance {
				m -= distance
			}
		}
	}
}

// modelPeriod is k modulo distance by a multiplication with the lane's reciprocal, for k below 18.
func modelPeriod(k, distance int) int {
	if distance >= lanes {
		return k
	}
	return k - k*((1024+distance-1)/distance)>>10*distance
}

// modelLZ4Slow does one sequence of any kind. The token it returns is -1 if that was the last, in
// which case ok says whether it was right.
func modelLZ4Slow(in, page []byte, n, token, ip, at int) (next, ip2, at2 int, ok bool) {
	length := func(half int) (int, bool) {
		for b := 255; half >= escape && b == 255; ip++ {
			if ip >= n {
				return 0, false
			}
			b = int(in[ip])
			half += b
		}
		return half, true
	}
	literals, ok := length(token >> 4)
	if !ok || literals > n-ip || literals > PageSize-at {
		return -1, ip, at, false
	}
	copy(page[at:], in[ip:ip+literals])
	ip, at = ip+literals, at+literals
	if n-ip < 2 {
		return -1, ip, at, ip == n
	}
	distance := int(binary.LittleEndian.Uint16(in[ip:]))
	ip += 2
	match, ok := length(token & 15)
	match += minMatch
	if !ok || match > PageSize-at || uint(distance-1) >= uint(at) || ip >= n {
		return -1, ip, at, false
	}
	modelMatch(page, at, distance, match)
	return int(in[ip]), ip + 1, at + match, true
}

// modelSequence is a match with the literals before it; without a match it ends the object.
type modelSequence struct{ anchor, at, distance, length int }

// append writes the sequence behind the object.
func (s modelSequence) append(object, page []byte) []byte {
	e := Encoder{out: object}
	e.out = append(e.out, make([]byte, 2*PageSize)...)[:len(object)]
	e.append(page[s.anchor:s.at], s.distance, s.length)
	return e.out
}

// modelCompress is the object that the kernel must make of a page, nil if it is longer than limit.
func modelCompress(page []byte, limit int) []byte {
	var e Encoder
	object := make([]byte, limit)
	return object[:e.Compress(object, page)]
}
