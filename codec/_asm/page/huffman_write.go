// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Where the fields of package page's laneWriter lie.
const (
	laneBits  = 0
	laneCount = 8
	laneUsed  = 16
	laneBytes = 24
	laneSize  = 3*size*maxCode/(8*lanes) + 256
)

// A writer holds the registers that the parts of the routine share.
type writer struct {
	lanes, codes, src, six, zero, left GPVirtual
}

// writeSegment writes the symbols of all lanes in turn, five of each from one word. An entry is
// shifted by and added up as it is, for its low bits are a length.
func writeSegment() {
	TEXT("writeSegmentAVX2", NOSPLIT, "func(w *byte, codes *[256]uint16, segment []byte)")
	var w writer
	registers(&w.lanes, &w.codes, &w.src, &w.six, &w.zero, &w.left)
	Load(Param("w"), w.lanes)
	Load(Param("codes"), w.codes)
	Load(Param("segment").Base(), w.src)
	Load(Param("segment").Len(), w.left)
	MOVL(U32(lengthBits), w.six.As32())
	XORL(w.zero.As32(), w.zero.As32())
	CMPQ(w.left, Imm(lanes*atOnce))
	JBE(LabelRef("last"))
	align()
	Label("block")
	for lane := range lanes {
		w.lane(lane, false)
	}
	ADDQ(Imm(lanes*atOnce), w.src)
	SUBQ(Imm(lanes*atOnce), w.left)
	CMPQ(w.left, Imm(lanes*atOnce))
	JA(LabelRef("block"))
	Label("last")
	for lane := range lanes {
		w.lane(lane, true)
	}
	RET()
}

// lane appends five symbols to a lane, or in the last block those of them that there are.
func (w *writer) lane(lane int, last bool) {
	bits, length, entry, t := GP64(), GP64(), GP64(), GP64()
	for i := range atOnce {
		symbol := lanes*i + lane
		MOVBLZX(behind(w.src, symbol), entry.As32())
		MOVWLZX(at(w.codes, entry, 2, 0), entry.As32())
		if last {
			CMPQ(w.left, Imm(uint64(symbol)))
			CMOVLLS(w.zero.As32(), entry.As32())
		}
		if i == 0 {
			SHRXQ(w.six, entry, bits)
			MOVL(entry.As32(), length.As32())
			continue
		}
		SHRXQ(w.six, entry, t)
		SHLXQ(length, t, t)
		ORQ(t, bits)
		ADDL(entry.As32(), length.As32())
	}
	ANDL(Imm(lengthMask), length.As32())
	field := func(offset int) Mem { return behind(w.lanes, lane*(laneBytes+laneSize)+offset) }
	count, used := entry, t
	MOVQ(field(laneCount), count)
	SHLXQ(count, bits, bits)
	ORQ(field(laneBits), bits)
	ADDQ(length, count)
	MOVQ(field(laneUsed), used)
	MOVQ(bits, at(w.lanes, used, 1, lane*(laneBytes+laneSize)+laneBytes))
	MOVL(count.As32(), length.As32())
	SHRL(Imm(3), length.As32())
	ADDQ(length, used)
	MOVQ(used, field(laneUsed))
	MOVL(count.As32(), length.As32())
	ANDL(Imm(56), length.As32())
	SHRXQ(length, bits, bits)
	MOVQ(bits, field(laneBits))
	ANDL(Imm(7), count.As32())
	MOVQ(count, field(laneCount))
}
