// SPDX-License-Identifier: Apache-2.0

package page

import "encoding/binary"

// plainRoom is how many bytes plain may write behind the place where a token begins: literals and a
// match, in whole steps.
const plainRoom = maxLiterals + maxLength + farExtra + 16

// nearDistances holds the distances of near bytes.
var nearDistances = func() (t [256]uint16) {
	for b := range t {
		t[b] = uint16(nearDistance(byte(b)))
	}
	return t
}()

// rememberMasks says by kind which of the remembered distances lie before the place that a match's
// distance leaves, and which behind it. Its length makes every index fit.
var rememberMasks = func() (t [8]struct{ before, behind uint64 }) {
	for kind := range kinds {
		place := min(kind, rep3)
		t[kind].before = 1<<(16*place) - 1
		t[kind].behind = ^uint64(0) << (16 * place) << 16
	}
	return t
}()

// plain does tokens as long as there is room to copy in whole steps, up to a run or an invalid
// token, which it leaves to next.
func (d *decoding) plain() {
	// Behind the literals lie the distances and tokens: they are as good to copy where fewer
	// literals are left than one step has.
	room := len(d.literals) + len(d.distances) + len(d.tokens)
	literals := d.literals[:len(d.literals):min(cap(d.literals), room)]
	dst, distances, reps, at, used := d.dst, d.distances, d.reps, d.at, 0
	last := len(dst) - plainRoom
	for _, number := range d.tokens {
		if at > last || cap(literals) < maxLiterals || number >= literalRun {
			break
		}
		t := tokens[number]
		length, left := int(t.length), distances
		distance := int(reps >> (16 * t.kind & 63) & 0xffff)
		if t.kind >= near {
			if len(distances) < 2 {
				break
			}
			if t.kind == near {
				distance, left = int(nearDistances[distances[0]]), distances[1:]
			} else {
				left = distances[:len(distances)-2]
				word := int(binary.LittleEndian.Uint16(distances[len(left):]))
				distance, length = word&0xfff, length+word>>12
			}
		}
		start := at + int(t.literals)
		if uint(distance-1) >= uint(start) || int(t.literals) > len(literals) {
			break
		}
		*(*[maxLiterals]byte)(dst[at : at+maxLiterals]) = *(*[maxLiterals]byte)(literals[:maxLiterals])
		literals, distances = literals[t.literals:], left
		reps = remember(reps, t.kind, distance)
		repeat(dst, start, distance, length)
		at = start + length
		used++
	}
	d.tokens, d.literals, d.distances, d.reps, d.at = d.tokens[used:], literals, distances, reps, at
}

// patterns says by a distance of less than eight how the bytes at it fill eight: which of them
// count, what they are multiplied with, and how many bytes are whole periods.
var patterns = func() (t [8]struct {
	mask, factor uint64
	step         int
}) {
	for distance := 1; distance < len(t); distance++ {
		p := &t[distance]
		p.mask = 1<<(8*distance) - 1
		for shift := 0; shift < 64; shift += 8 * distance {
			p.factor |= 1 << shift
		}
		p.step = 8 / distance * distance
	}
	return t
}()

// repeat writes n bytes of a match, and up to 16 more.
func repeat(dst []byte, at, distance, n int) {
	from, end := at-distance, at+n
	switch {
	case distance >= 16:
		for {
			*(*[16]byte)(dst[at : at+16]) = *(*[16]byte)(dst[from : from+16])
			at, from = at+16, from+16
			if at >= end {
				return
			}
		}
	case distance >= 8:
		for ; at < end; at, from = at+8, from+8 {
			binary.LittleEndian.PutUint64(dst[at:at+8], binary.LittleEndian.Uint64(dst[from:from+8]))
		}
	default:
		p := &patterns[distance&7]
		x := binary.LittleEndian.Uint64(dst[from:from+8]) & p.mask * p.factor
		for ; at < end; at += p.step {
			binary.LittleEndian.PutUint64(dst[at:at+8], x)
		}
	}
}
