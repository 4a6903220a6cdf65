// SPDX-License-Identifier: Apache-2.0

package page

import "encoding/binary"

// writeFunc writes a segment to the lanes: symbol i to lane i mod lanes. Codes are as a code has
// them, by byte.
type writeFunc func(w *[lanes]laneWriter, codes *[256]uint16, segment []byte)

func writeGeneric(w *[lanes]laneWriter, codes *[256]uint16, segment []byte) {
	for lane := range w {
		w[lane].write(codes, segment, lane)
	}
}

// A densePacker makes a dense object of what a search has collected.
type densePacker struct {
	writers         [lanes]laneWriter
	farLow, farHigh [Size/4 + block]byte
	chooser
}

// pack puts the object together in dst and returns its length, or 0 if it does not fit.
func (p *densePacker) pack(dst []byte, s *search, write writeFunc) int {
	fars := s.fars / 2
	for i := range fars {
		p.farLow[i], p.farHigh[i] = s.farStream[2*i], s.farStream[2*i+1]
	}
	contents := [segments][]byte{s.tokenStream[:s.tokens], s.literalStream[:s.literals], s.nearStream[:s.nears], p.farLow[:fars], p.farHigh[:fars]}
	var choices [segments]int
	least := 0 // of bits in all lanes
	for i, segment := range contents {
		cost := 0
		choices[i], cost = p.choose(i, segment)
		least += cost
	}
	limit := min(len(dst), MaxObject)
	if denseHeader+least/8 > limit || s.literals > 0xfff || s.tokens > 0xfff {
		return 0
	}
	for i := range p.writers {
		w := &p.writers[i]
		w.bits, w.count, w.size = 0, 0, 0
	}
	for i, segment := range contents {
		if len(segment) > 0 {
			write(&p.writers, p.codesOf(codes[i][choices[i]]), segment)
		}
	}
	return p.assemble(dst[:limit], s.literals|s.tokens<<12, choices)
}

// assemble writes the header, the favourites and the lanes.
func (p *densePacker) assemble(dst []byte, counts int, choices [segments]int) int {
	w := &p.writers
	region0, region1, border := borderOf(w[0].length()+w[1].length(), w[2].length()+w[3].length())
	favourites := codes[tokenSegment][choices[tokenSegment]].favourites
	n := denseHeader + favourites + region0 + region1
	if n > len(dst) {
		return 0
	}
	dst[0], dst[1], dst[2], dst[4] = byte(counts), byte(counts>>8), byte(counts>>16), byte(border)
	choice := 0
	for i := segments - 1; i >= 0; i-- {
		choice = choice<<choiceBits[i] | choices[i]
	}
	dst[3] = byte(choice)
	at := denseHeader + copy(dst[denseHeader:], p.favourites[:favourites])
	putRegion(dst[at:at+region0], &w[0], &w[1])
	putRegion(dst[at+region0:n], &w[2], &w[3])
	return n
}

// putRegion writes one lane from the beginning of a region on and another from its end back, and
// zeros between them.
func putRegion(region []byte, forward, backward *laneWriter) {
	n := copy(region, forward.bytes[:forward.length()])
	last := backward.bytes[:backward.length()]
	clear(region[n : len(region)-len(last)])
	at := len(region)
	for ; len(last) >= 8; last = last[8:] {
		at -= 8
		binary.BigEndian.PutUint64(region[at:], binary.LittleEndian.Uint64(last))
	}
	for _, b := range last {
		at--
		region[at] = b
	}
}
