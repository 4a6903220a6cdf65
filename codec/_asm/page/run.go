// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// run does a token that stands for a multiple of 16 bytes: literals for number 254, and for 255,
// whose entry has one bit more, a match at the last distance.
func (d *decoder) run(p phase) {
	n, distance, t := GP64(), GP64(), GP64()
	Label(p.name("Run"))
	CMPQ(d.nears, d.fars)
	JAE(LabelRef("wrong"))
	MOVBQZX(behind(d.nears, 0), n)
	INCQ(d.nears)
	INCQ(n)
	SHLQ(Imm(4), n)
	MOVQ(d.end, t)
	SUBQ(d.out, t)
	CMPQ(n, t)
	JA(LabelRef("wrong"))
	// The token's number is the byte behind which next is.
	CMPB(behind(d.next, -1), U8(255))
	JE(LabelRef(p.name("Match")))
	d.runLiterals(p, n)
	Label(p.name("Match"))
	MOVWQZX(d.reps.As16(), distance)
	MOVQ(d.out, t)
	SUBQ(d.start, t)
	CMPQ(distance, t)
	JA(LabelRef("wrong"))
	if !p.first {
		CMPQ(distance, Imm(nearDense))
		JA(LabelRef("mainFar"))
	}
	d.runNear(p, n, distance)
	if !p.first {
		Label("mainFar")
		d.runFar(n, distance)
	}
}

// reload gets the last bytes from memory, where they were written without the vector.
func (d *decoder) reload(p phase) {
	if p.first {
		n, start, index := GP64(), GP64(), ZMM()
		d.some(n, "mainReload")
		ADDQ(d.tables, n)
		VMOVDQU64(behind(n, countTable), index)
		MOVQ(d.start, start)
		VMOVDQU64(behind(start, 0), d.last)
		VPERMB(d.last, index, d.last)
		jump("firstToken")
		return
	}
	Label("mainReload")
	VMOVDQU64(behind(d.out, -64), d.last)
	jump("mainToken")
}

// runLiterals copies n literals.
func (d *decoder) runLiterals(p phase, n GPVirtual) {
	t, x := GP64(), XMM()
	MOVQ(d.literalsEnd, t)
	SUBQ(d.literals, t)
	CMPQ(n, t)
	JA(LabelRef("wrong"))
	Label(p.name("Literals"))
	VMOVDQU(behind(d.literals, 0), x)
	VMOVDQU(x, behind(d.out, 0))
	ADDQ(Imm(runUnit), d.literals)
	ADDQ(Imm(runUnit), d.out)
	SUBQ(Imm(runUnit), n)
	JNZ(LabelRef(p.name("Literals")))
	d.reload(p)
}

// runNear repeats n bytes at a distance of up to 64, by vectors, and then what is left as a token
// would.
func (d *decoder) runNear(p phase, n, distance GPVirtual) {
	row, count := GP64(), GP64()
	index := ZMM()
	MOVQ(distance, row)
	SHLQ(Imm(7), row)
	ADDQ(d.tables, row)
	Label(p.name("Whole"))
	CMPQ(n, Imm(64))
	JB(LabelRef(p.name("Rest")))
	VMOVDQU64(behind(d.tables, countTable+64), index)
	VPSUBB(behind(row, rowTable+64), index, index)
	VPERMI2B(d.last, d.last, index)
	VMOVDQA64(index, d.last)
	VMOVDQU64(d.last, behind(d.out, 0))
	ADDQ(Imm(64), d.out)
	SUBQ(Imm(64), n)
	jump(p.name("Whole"))
	Label(p.name("Rest"))
	LEAQ(at(d.tables, n, 1, 0), count)
	VMOVDQU64(behind(count, countTable), index)
	VPSUBB(at(row, n, 1, rowTable), index, index)
	VPERMI2B(d.last, d.last, index)
	VMOVDQA64(index, d.last)
	ADDQ(n, d.out)
	d.store(p, "RunPlaced")
}

// runFar repeats n bytes at a distance of more than 64.
func (d *decoder) runFar(n, distance GPVirtual) {
	from := GP64()
	x := XMM()
	MOVQ(d.out, from)
	SUBQ(distance, from)
	Label("mainUnit")
	VMOVDQU(behind(from, 0), x)
	VMOVDQU(x, behind(d.out, 0))
	ADDQ(Imm(runUnit), from)
	ADDQ(Imm(runUnit), d.out)
	SUBQ(Imm(runUnit), n)
	JNZ(LabelRef("mainUnit"))
	jump("mainReload")
}
