// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// long goes on with a match whose eight bytes from ip on are equal, and writes its token and
// length.
func (e *encoder) long() {
	x, length := GP64(), GP64()
	align()
	Label("long")
	ADDQ(Imm(8), e.ip)
	ADDQ(Imm(8), e.from)
	CMPQ(e.ip, e.last)
	JA(LabelRef("tail"))
	MOVQ(at(e.src, e.ip, 0), x)
	XORQ(at(e.src, e.from, 0), x)
	JZ(LabelRef("long"))
	TZCNTQ(x, x)
	SHRL(Imm(3), x.As32())
	ADDQ(x, e.ip)
	Label("measured")
	MOVQ(e.ip, length)
	SUBQ(e.start, length)
	SUBL(Imm(minMatch), length.As32())
	CMPL(length.As32(), Imm(escape))
	JAE(LabelRef("escaped"))
	ORL(length.As32(), e.high.As32())
	MOVB(e.high.As8(), behind(e.token, 0))
	jump("next")
	Label("escaped")
	ORL(Imm(escape), e.high.As32())
	MOVB(e.high.As8(), behind(e.token, 0))
	e.extra(length, "lengthBytes", "next")
	e.tail()
}

// tail compares the last bytes, which are fewer than eight, one by one.
func (e *encoder) tail() {
	end, b := GP64(), GP64()
	Label("tail")
	LEAQ(behind(e.last, matchMargin-tailLiterals), end)
	Label("byte")
	CMPQ(e.ip, end)
	JAE(LabelRef("measured"))
	MOVBLZX(at(e.src, e.ip, 0), b.As32())
	CMPB(b.As8(), at(e.src, e.from, 0))
	JNE(LabelRef("measured"))
	INCQ(e.ip)
	INCQ(e.from)
	jump("byte")
}

// extra writes the bytes of a length that does not fit in its half of the token, and jumps to done.
// The register is changed.
func (e *encoder) extra(length GPVirtual, loop, done string) {
	SUBL(Imm(escape), length.As32())
	Label(loop)
	MOVB(length.As8(), behind(e.op, 0))
	INCQ(e.op)
	SUBL(U32(moreLength), length.As32())
	JB(LabelRef(done))
	MOVB(U8(moreLength), behind(e.op, -1))
	jump(loop)
}

// manyLiterals copies more than eight literals and writes the distance.
func (e *encoder) manyLiterals() {
	high, left, from := GP64(), GP64(), GP64()
	Label("manyLiterals")
	INCQ(e.op)
	MOVL(e.high.As32(), left.As32())
	MOVL(e.high.As32(), high.As32())
	SHLL(Imm(4), high.As32())
	CMPL(e.high.As32(), Imm(escape))
	JB(LabelRef("copy"))
	MOVL(U32(escape<<4), high.As32())
	e.extra(left, "literalBytes", "copy")
	Label("copy")
	e.distance(at(e.op, e.high, 0))
	LEAQ(at(e.src, e.anchor, 0), from)
	ADDQ(e.high, from)
	ADDQ(e.high, e.op)
	CMPL(e.high.As32(), Imm(16))
	JB(LabelRef("halves"))
	e.copyLiterals(from, left)
	Label("counted")
	MOVL(high.As32(), e.high.As32())
	ADDQ(Imm(2), e.op)
	jump("copied")
}

// copyLiterals copies the bytes before from to the bytes before op: by sixteen, where the last step
// may copy bytes again, or by eight in the same way.
func (e *encoder) copyLiterals(from, left GPVirtual) {
	v, bytes := XMM(), GP64()
	MOVL(e.high.As32(), left.As32())
	NEGQ(left)
	Label("sixteen")
	CMPQ(left, I8(-16))
	JGE(LabelRef("lastSixteen"))
	MOVOU(at(from, left, 0), v)
	MOVOU(v, at(e.op, left, 0))
	ADDQ(Imm(16), left)
	jump("sixteen")
	Label("lastSixteen")
	MOVOU(behind(from, -16), v)
	MOVOU(v, behind(e.op, -16))
	jump("counted")
	Label("halves")
	NEGQ(e.high)
	MOVQ(at(from, e.high, 0), bytes)
	MOVQ(bytes, at(e.op, e.high, 0))
	MOVQ(behind(from, -8), bytes)
	MOVQ(bytes, behind(e.op, -8))
}
