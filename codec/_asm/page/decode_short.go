// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	shuffleTable = countTable + 3*64
	short        = 16 // bytes in a vector
	writeMargin  = short + short + 64
)

// decodeShort is the decoder for machines without the permutation of whole vectors. It copies
// through memory, by vectors of 16 bytes: of a distance of less than that, the bytes that repeat
// are spread over the vector first. The only jump that is hard to predict is for matches of more
// than 16 bytes.
func decodeShort() {
	TEXT("decodeTokensAVX2", NOSPLIT,
		"func(dst, literals, distances, tokens []byte, at int, reps uint64, tables *byte) (used, usedLiterals, nears, fars, newAt int, newReps uint64)")
	var d decoder
	limit := AllocLocal(8)
	d.begin()
	n := GP64()
	Load(Param("at"), n)
	ADDQ(n, d.out)
	Load(Param("reps"), d.reps)
	MOVQ(d.end, n)
	SUBQ(Imm(writeMargin), n)
	MOVQ(n, limit)
	jump("check")
	d.shortToken()
	Label("check")
	CMPQ(d.next, d.tokensEnd)
	JAE(LabelRef("leave"))
	CMPQ(d.out, limit)
	JBE(LabelRef("token"))
	Label("leave")
	d.leaveShort()
}

// shortToken does one token.
func (d *decoder) shortToken() {
	token, literals, length, kind, distance := GP64(), GP64(), GP64(), GP64(), GP64()
	x := XMM()
	align()
	Label("token")
	MOVBQZX(behind(d.next, 0), token)
	CMPL(token.As32(), U32(firstRun))
	JAE(LabelRef("leave"))
	INCQ(d.next)
	d.entry(token, literals, length, kind)
	d.distance(kind, token, distance, length)
	d.rememberByMasks(kind, distance, token)
	VMOVDQU(behind(d.literals, 0), x)
	VMOVDQU(x, behind(d.out, 0))
	ADDQ(literals, d.literals)
	CMPQ(d.literals, d.literalsEnd)
	JA(LabelRef("wrong"))
	ADDQ(literals, d.out)
	d.inPage(phase{first: true}, distance, token, literals)
	d.shortMatch(length, distance, token, kind, literals)
}

// rememberByMasks works like remember, without an instruction that takes some processors of this
// set hundreds of cycles.
func (d *decoder) rememberByMasks(kind, distance, t GPVirtual) {
	MOVQ(at(d.tables, kind, 1, kindLow), t)
	ANDQ(d.reps, t)
	SHLQ(Imm(16), t)
	ANDQ(at(d.tables, kind, 1, kindHigh), d.reps)
	ORQ(t, d.reps)
	ORQ(distance, d.reps)
}

// shortMatch copies a match.
func (d *decoder) shortMatch(length, distance, from, row, step GPVirtual) {
	x := XMM()
	to := GP64()
	// From 16 on all distances take the row of 16, which changes nothing, and their bytes from
	// where the last vector's end.
	MOVQ(d.out, from)
	SUBQ(distance, from)
	MOVQ(d.out, to)
	ADDQ(length, d.out)
	MOVL(U32(short), row.As32())
	XORL(step.As32(), step.As32())
	CMPQ(distance, row)
	CMOVQCC(row, step)
	CMOVQCS(distance, row)
	SHLQ(Imm(6), row)
	ADDQ(d.tables, row)
	Label("match")
	VMOVDQU(behind(from, 0), x)
	VPSHUFB(behind(row, shuffleTable), x, x)
	VMOVDQU(x, behind(to, 0))
	ADDQ(step, from)
	ADDQ(Imm(short), row)
	ADDQ(Imm(short), to)
	CMPQ(to, d.out)
	JB(LabelRef("match"))
}

// leaveShort returns what was used.
func (d *decoder) leaveShort() {
	result := func(end, begin GPVirtual, i int) {
		SUBQ(begin, end)
		Store(end, ReturnIndex(i))
	}
	first := func(name string) GPVirtual { return Load(Param(name).Base(), GP64()).(GPVirtual) }
	last := Load(Param("distances").Len(), GP64()).(GPVirtual)
	distances := first("distances")
	ADDQ(distances, last)
	result(d.next, first("tokens"), 0)
	result(d.literals, first("literals"), 1)
	result(d.nears, distances, 2)
	result(last, d.fars, 3)
	SUBQ(d.start, d.out)
	Store(d.out, ReturnIndex(4))
	Store(d.reps, ReturnIndex(5))
	RET()
	Label("wrong")
	MOVQ(I64(-1), d.out)
	Store(d.out, ReturnIndex(4))
	RET()
}
