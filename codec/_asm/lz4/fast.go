// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// stride is what package lz4 calls so.
const stride = 4

func encodeFastBlock() {
	TEXT("encodeFastBlockAVX2", NOSPLIT, encoderSignature)
	var e encoder
	e.begin(stride, false)
	jump("search")

	align()
	Label("next")
	MOVQ(e.ip, e.anchor)
	CMPQ(e.ip, e.last)
	JA(LabelRef("end"))
	e.probe(0, "match0")
	ADDQ(Imm(stride), e.ip)
	ANDQ(I8(-stride), e.ip)
	e.run(stride)

	e.sequence(0)
	e.extend()
	e.afterLiterals()
	e.long()
	e.manyLiterals()
	Label("narrow0")
	MOVQ(e.ip, e.start)
	jump("narrow")
	e.end()
}

// extend finds where the match begins and how many literals are left before it.
func (e *encoder) extend() {
	back := GP64()
	align()
	Label("match")
	MOVQ(e.ip, e.start)
	MOVQ(e.ip, e.high)
	SUBQ(e.anchor, e.high)
	CMPQ(e.from, Imm(8))
	JB(LabelRef("bytewise"))
	MOVQ(at(e.src, e.ip, -8), back)
	XORQ(at(e.src, e.from, -8), back)
	LZCNTQ(back, back)
	SHRL(Imm(3), back.As32())
	CMPL(back.As32(), e.high.As32())
	CMOVLHI(e.high.As32(), back.As32())
	SUBQ(back, e.high)
	SUBQ(back, e.start)
	jump("extended")
	e.bytewise()
	Label("extended")
}

// bytewise is for a match that repeats one of the first eight positions, where less than eight
// bytes lie before.
func (e *encoder) bytewise() {
	left, b := GP64(), GP64()
	Label("bytewise")
	MOVQ(e.from, left)
	Label("backwards")
	TESTQ(left, left)
	JZ(LabelRef("extended"))
	TESTL(e.high.As32(), e.high.As32())
	JZ(LabelRef("extended"))
	MOVBLZX(at(e.src, e.start, -1), b.As32())
	CMPB(b.As8(), at(e.src, left, -1))
	JNE(LabelRef("extended"))
	DECQ(e.start)
	DECQ(e.high)
	DECQ(left)
	jump("backwards")
}
