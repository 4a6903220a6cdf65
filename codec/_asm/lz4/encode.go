// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// few is how many numbers of literals, from none on, have a path of their own, in which the number
// is known wherever it is used: four sequences in five. With more it is not faster. At most 5: what
// is copied is four bytes.
const few = 3

func encodeBlock() {
	TEXT("encodeBlockAVX2", NOSPLIT, encoderSignature)
	var e encoder
	e.begin(1, true)
	jump("search")
	e.next()
	e.run(1)
	for literals := range few {
		e.sequence(literals)
	}
	align()
	Label("match")
	MOVQ(e.ip, e.start)
	MOVQ(e.ip, e.high)
	SUBQ(e.anchor, e.high)
	e.afterLiterals()
	e.long()
	e.manyLiterals()
	for literals := range few {
		Label(fmt.Sprintf("narrow%d", literals))
		if literals > 0 {
			ADDQ(Imm(uint64(literals)), e.ip)
		}
		MOVQ(e.ip, e.start)
		jump("narrow")
	}
	e.end()
}

// next begins the search behind a match.
func (e *encoder) next() {
	align()
	Label("next")
	MOVQ(e.ip, e.anchor)
	v := GP64()
	LEAQ(behind(e.ip, few), v)
	CMPQ(v, e.last)
	JA(LabelRef("short"))
	e.enter()
	for literals := range few {
		e.probe(literals, fmt.Sprintf("match%d", literals))
	}
	ADDQ(Imm(few), e.ip)
	jump("search")
	Comment("Less than that is left.")
	Label("short")
	CMPQ(e.ip, e.last)
	JA(LabelRef("end"))
	e.enter()
	jump("search")
}

// enter enters the position two before the end of a match: the only one within a match that is.
func (e *encoder) enter() {
	v, position := GP64(), GP64()
	MOVQ(at(e.src, e.ip, -2), v)
	entry := e.hashed(v)
	LEAQ(behind(e.ip, -2), position)
	MOVW(position.As16(), entry)
}

// distance writes how far back the match lies.
func (e *encoder) distance(to Mem) {
	d := GP64()
	MOVQ(e.ip, d)
	SUBQ(e.from, d)
	MOVW(d.As16(), to)
}

// sequence writes a match with this number of literals.
func (e *encoder) sequence(literals int) {
	align()
	Label(fmt.Sprintf("match%d", literals))
	CMPQ(e.op, e.space)
	JA(LabelRef(fmt.Sprintf("narrow%d", literals)))
	if literals > 0 {
		bytes := GP64()
		MOVL(at(e.src, e.ip, 0), bytes.As32())
		MOVL(bytes.As32(), behind(e.op, 1))
		ADDQ(Imm(uint64(literals)), e.ip)
	}
	e.distance(behind(e.op, 1+literals))
	TESTQ(e.x, e.x)
	JZ(LabelRef(fmt.Sprintf("long%d", literals)))
	Comment("Less than eight bytes: the length fits in the token.")
	length := GP64()
	TZCNTQ(e.x, length)
	SHRL(Imm(3), length.As32())
	ADDQ(length, e.ip)
	ADDL(I32(int32(literals<<4-minMatch)), length.As32())
	MOVB(length.As8(), behind(e.op, 0))
	ADDQ(Imm(uint64(3+literals)), e.op)
	jump("next")

	e.second(literals, length)
	MOVQ(e.ip, e.start)
	MOVQ(e.op, e.token)
	ADDQ(Imm(uint64(3+literals)), e.op)
	MOVL(U32(uint32(literals<<4)), e.high.As32())
	jump("long")
}

// second measures a match whose first eight bytes are equal, and writes it if the eight behind
// them are not. Longer matches are for long.
func (e *encoder) second(literals int, length GPVirtual) {
	longer := fmt.Sprintf("longer%d", literals)
	Label(fmt.Sprintf("long%d", literals))
	LEAQ(behind(e.ip, 8), length)
	CMPQ(length, e.last)
	JA(LabelRef(longer))
	MOVQ(at(e.src, e.ip, 8), e.x)
	XORQ(at(e.src, e.from, 8), e.x)
	JZ(LabelRef(longer))
	TZCNTQ(e.x, length)
	SHRL(Imm(3), length.As32())
	LEAQ(at(e.ip, length, 8), e.ip)
	ADDL(I32(int32(literals<<4+8-minMatch)), length.As32())
	MOVB(length.As8(), behind(e.op, 0))
	ADDQ(Imm(uint64(3+literals)), e.op)
	jump("next")
	Label(longer)
}

// afterLiterals writes a match that begins at start, with any number of literals, which is in high.
// It reads nothing behind these.
func (e *encoder) afterLiterals() {
	room, bytes, length := GP64(), GP64(), GP64()
	LEAQ(at(e.op, e.high, 0), room)
	CMPQ(room, e.space)
	JA(LabelRef("narrow"))
	MOVQ(e.op, e.token)
	CMPL(e.high.As32(), Imm(8))
	JA(LabelRef("manyLiterals"))
	MOVQ(at(e.src, e.anchor, 0), bytes)
	MOVQ(bytes, behind(e.op, 1))
	e.distance(at(e.op, e.high, 1))
	LEAQ(at(e.op, e.high, 3), e.op)
	SHLL(Imm(4), e.high.As32())
	Label("copied")
	TESTQ(e.x, e.x)
	JZ(LabelRef("long"))
	Comment("Less than eight bytes forwards and at most eight backwards: the length fits in the token.")
	TZCNTQ(e.x, length)
	SHRL(Imm(3), length.As32())
	ADDQ(length, e.ip)
	MOVQ(e.ip, length)
	SUBQ(e.start, length)
	LEAL(at(e.high, length, -minMatch), length.As32())
	MOVB(length.As8(), behind(e.token, 0))
	jump("next")
}
