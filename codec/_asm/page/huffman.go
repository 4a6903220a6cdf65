// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Package page uses the same names.
const (
	lanes      = 4
	atOnce     = 5
	maxCode    = 10
	lengthBits = 6
	lengthMask = 1<<lengthBits - 1
)

// A reader holds the registers that the parts of a routine share.
//
// For each lane a word holds the next bits; the first count of them are sure. A word is filled up
// from the byte behind these: the bits of that byte that it already holds are the same, so they may
// be written twice. So the load waits for nothing that was decoded since the last one.
type reader struct {
	scratch, decode, names GPVirtual
	dst                    GPVirtual
	words, counts          [lanes]GPVirtual
	places                 [lanes]Mem // where in memory the next byte lies, or ends for lanes that go backwards
	partial                [lanes]Mem // a lane's counts before each symbol of the last block, and behind the last
	left                   Mem        // how many symbols
}

// readSegment decodes the symbols of all lanes in turn, five of each from one word. The lengths of
// codes are the low bits of a table's entry, which are all that a shift looks at, so that entries
// are shifted by and subtracted as they are.
func readSegment(name string, named bool) {
	signature := "func(s *byte, p *[4]int, decode *[1024]uint16, dst []byte)"
	if named {
		signature = "func(s *byte, p *[4]int, decode *[1024]uint16, names *byte, dst []byte)"
	}
	TEXT(name, NOSPLIT, signature)
	r := reader{left: AllocLocal(8)}
	registers(&r.decode, &r.dst)
	r.begin()
	if named {
		r.names = Load(Param("names"), GP64()).(GPVirtual)
	}
	n := GP64()
	Load(Param("decode"), r.decode)
	Load(Param("dst").Base(), r.dst)
	Load(Param("dst").Len(), n)
	SUBQ(Imm(lanes*atOnce), n)
	MOVQ(n, r.left)
	JLE(LabelRef("last"))
	align()
	Label("block")
	r.fill()
	for step := range atOnce {
		r.step(step)
	}
	ADDQ(Imm(lanes*atOnce), r.dst)
	SUBQ(Imm(lanes*atOnce), r.left)
	JG(LabelRef("block"))
	Label("last")
	r.last()
	r.end()
	RET()
}

// backward is whether a lane goes backwards.
func backward(lane int) bool { return lane%2 == 1 }

// word loads the eight bytes of a lane from a place on.
func word(lane int, place, w GPVirtual) {
	if backward(lane) {
		MOVQ(behind(place, -8), w)
		BSWAPQ(w)
	} else {
		MOVQ(behind(place, 0), w)
	}
}

// begin loads each lane's first word. Seven bytes of it are sure, but for the bits before the
// position.
func (r *reader) begin() {
	s, p, t, place := GP64(), GP64(), GP64(), GP64()
	Load(Param("s"), s)
	Load(Param("p"), p)
	for i := range lanes {
		registers(&r.words[i], &r.counts[i])
		r.places[i], r.partial[i] = AllocLocal(8), AllocLocal(4*(atOnce+1))
		MOVQ(behind(p, 8*i), t)
		if backward(i) {
			LEAQ(behind(t, 7), place)
			NEGQ(t)
		} else {
			MOVQ(t, place)
		}
		SHRQ(Imm(3), place)
		ADDQ(s, place)
		ANDL(Imm(7), t.As32())
		word(i, place, r.words[i])
		SHRXQ(t, r.words[i], r.words[i])
		MOVL(U32(56), r.counts[i].As32())
		SUBL(t.As32(), r.counts[i].As32())
		if backward(i) {
			SUBQ(Imm(7), place)
		} else {
			ADDQ(Imm(7), place)
		}
		MOVQ(place, r.places[i])
	}
}

// fill fills up each lane's word to 56 bits and more.
func (r *reader) fill() {
	for i, w := range r.words {
		place, more, count := GP64(), GP64(), r.counts[i]
		MOVQ(r.places[i], place)
		word(i, place, more)
		SHLXQ(count, more, more)
		ORQ(more, w)
		ANDL(Imm(lengthMask), count.As32())
		MOVL(count.As32(), more.As32())
		XORL(Imm(63), more.As32())
		SHRL(Imm(3), more.As32())
		if backward(i) {
			SUBQ(more, place)
		} else {
			ADDQ(more, place)
		}
		MOVQ(place, r.places[i])
		ORL(Imm(56), count.As32())
	}
}

// step decodes a symbol of each lane.
func (r *reader) step(step int) {
	for i, w := range r.words {
		e := GP64()
		MOVL(w.As32(), e.As32())
		ANDL(U32(1<<maxCode-1), e.As32())
		MOVWLZX(at(r.decode, e, 2, 0), e.As32())
		SHRXQ(e, w, w)
		SUBL(e.As32(), r.counts[i].As32())
		SHRL(Imm(lengthBits), e.As32())
		if r.names != nil {
			MOVBLZX(at(r.names, e, 1, 0), e.As32())
		}
		MOVB(e.As8(), behind(r.dst, lanes*step+i))
	}
}

// last decodes a block that may hold too many symbols: the names of the excess come to lie behind
// the others, and their lengths do not count.
func (r *reader) last() {
	r.fill()
	for step := range atOnce + 1 {
		if step > 0 {
			r.step(step - 1)
		}
		for i, count := range r.counts {
			MOVL(count.As32(), r.partial[i].Offset(4*step))
		}
	}
	n := r.words[0]
	MOVQ(r.left, n)
	for i, count := range r.counts {
		symbols := r.words[1]
		LEAQ(behind(n, lanes*atOnce+lanes-1-i), symbols)
		SHRQ(Imm(2), symbols)
		partial := r.partial[i]
		partial.Index, partial.Scale = symbols, 4
		MOVL(partial, count.As32())
	}
}

// end stores where the lanes go on: as many bits before the places as were left.
func (r *reader) end() {
	s, p, place := GP64(), GP64(), GP64()
	Load(Param("s"), s)
	Load(Param("p"), p)
	for i, count := range r.counts {
		ANDL(Imm(lengthMask), count.As32())
		MOVQ(r.places[i], place)
		SUBQ(s, place)
		SHLQ(Imm(3), place)
		if backward(i) {
			ADDQ(count, place)
		} else {
			SUBQ(count, place)
		}
		MOVQ(place, behind(p, 8*i))
	}
}
