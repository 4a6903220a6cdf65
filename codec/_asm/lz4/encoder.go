// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Package lz4 uses the same names.
const (
	tableBits    = 12
	tableSize    = 1 << tableBits
	hashFactor   = 0x9E3779B185EBCA87 << 23 & (1<<64 - 1)
	stepShift    = 6
	minMatch     = 4
	tailLiterals = 5
	matchMargin  = 13
	escape       = 15
	moreLength   = 255
	slack        = 64
	maxSize      = 4096
)

// An encoder holds the registers that the parts of an encoding routine share.
type encoder struct {
	src, table, factor GPVirtual
	last               GPVirtual // the last position at which a match may begin
	op                 GPVirtual // where the object goes on
	ip                 GPVirtual // the position at hand, and then the end of its match
	anchor             GPVirtual // where the literals begin
	dst, space         Mem       // the beginning of the object, and the end of its buffer less slack

	// The match at hand.
	x     GPVirtual // the eight bytes at ip, differing from those at from in the bits that are set
	from  GPVirtual // the position that it repeats
	start GPVirtual // where it begins
	token GPVirtual // where its token goes
	high  GPVirtual // the number of its literals, and then the token's high half
}

const encoderSignature = "func(dst, src []byte, t *[4096]uint16) (n, anchor, at, from int)"

// begin clears the table and loads the registers. The search begins at position first. With fetch
// it asks for the page's lines at the same time.
func (e *encoder) begin(first int, fetch bool) {
	registers(&e.factor, &e.ip, &e.anchor, &e.x, &e.from, &e.start, &e.token, &e.high)
	e.clear(fetch)
	e.src = Load(Param("src").Base(), GP64()).(GPVirtual)
	e.last = Load(Param("src").Len(), GP64()).(GPVirtual)
	SUBQ(Imm(matchMargin), e.last)
	e.op = Load(Param("dst").Base(), GP64()).(GPVirtual)
	e.dst, e.space = AllocLocal(8), AllocLocal(8)
	MOVQ(e.op, e.dst)
	room := Load(Param("dst").Len(), GP64())
	LEAQ(at(e.op, room, -slack), room)
	MOVQ(room, e.space)
	MOVQ(U64(hashFactor), e.factor)
	XORL(e.anchor.As32(), e.anchor.As32())
	MOVL(U32(uint32(first)), e.ip.As32())
}

// clear clears the table. With fetch it also asks for the 4096 bytes of a page from src on, a line
// of the cache for each two that it clears: the loop has time for it. Where src is shorter, what
// lies behind is asked for in vain, which neither faults nor counts as reading.
func (e *encoder) clear(fetch bool) {
	const (
		vector  = 32
		vectors = 16
		turns   = 2 * tableSize / (vector * vectors)
		fetched = maxSize / turns
	)
	e.table = Load(Param("t"), GP64()).(GPVirtual)
	zero, p, left, line := YMM(), GP64(), GP64(), GP64()
	VPXOR(zero, zero, zero)
	MOVQ(e.table, p)
	if fetch {
		Load(Param("src").Base(), line)
	}
	MOVL(U32(turns), left.As32())
	Label("clear")
	for i := range vectors {
		VMOVDQU(zero, behind(p, vector*i))
	}
	if fetch {
		for i := 0; i < fetched; i += cacheLine {
			PREFETCHT0(behind(line, i))
		}
		ADDQ(U32(fetched), line)
	}
	ADDQ(U32(vector*vectors), p)
	DECL(left.As32())
	JNZ(LabelRef("clear"))
	VZEROUPPER()
}

// hashed turns eight bytes into the table's entry for them.
func (e *encoder) hashed(v GPVirtual) Mem {
	IMULQ(e.factor, v)
	SHRQ(Imm(64-tableBits), v)
	return Mem{Base: e.table, Index: v, Scale: 2}
}

// probe looks up the position ahead of ip and enters it, and jumps if four bytes are equal to those
// at the position found. The other bytes of x are for the length of the match: reading both places
// again would be on the path that everything waits for.
func (e *encoder) probe(ahead int, found string) {
	v, position := GP64(), e.ip
	MOVQ(at(e.src, e.ip, ahead), e.x)
	MOVQ(e.x, v)
	if ahead > 0 {
		position = GP64()
		LEAQ(behind(e.ip, ahead), position)
	}
	entry := e.hashed(v)
	MOVWLZX(entry, e.from.As32())
	MOVW(position.As16(), entry)
	XORQ(at(e.src, e.from, 0), e.x)
	TESTL(e.x.As32(), e.x.As32())
	JZ(LabelRef(found))
}

// run searches from ip on in steps that are multiples of stride (1, 2, 4 or 8), for the match that
// the label "match" takes.
func (e *encoder) run(stride int) {
	limit, step := GP64(), GP64()
	Label("search")
	LEAQ(behind(e.anchor, 1<<stepShift-1), limit)
	CMPQ(limit, e.last)
	CMOVQHI(e.last, limit)
	Label("probe")
	CMPQ(e.ip, limit)
	JA(LabelRef("far"))
	e.probe(0, "match")
	ADDQ(Imm(uint64(stride)), e.ip)
	jump("probe")

	Comment("The longer nothing is found, the longer are the steps.")
	Label("far")
	CMPQ(e.ip, e.last)
	JA(LabelRef("end"))
	e.probe(0, "match")
	MOVQ(e.ip, step)
	SUBQ(e.anchor, step)
	SHRQ(Imm(stepShift), step)
	LEAQ(Mem{Base: e.ip, Index: step, Scale: uint8(stride), Disp: stride}, e.ip)
	jump("far")
}

// end returns how far the routine came.
func (e *encoder) end() {
	Comment("There is too little space to be quick. The match is for the caller to write.")
	Label("narrow")
	SUBQ(e.start, e.ip)
	SUBQ(e.ip, e.from)
	jump("return")
	Label("end")
	XORL(e.start.As32(), e.start.As32())
	XORL(e.from.As32(), e.from.As32())
	Label("return")
	SUBQ(e.dst, e.op)
	for i, r := range []GPVirtual{e.op, e.anchor, e.start, e.from} {
		Store(r, ReturnIndex(i))
	}
	RET()
}
