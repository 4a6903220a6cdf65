// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// run does a token that stands for a multiple of 16 bytes: literals for number 254, and for 255 a
// match at the last distance.
func (d *decoder) run(p phase) {
	n := d.runLength(p)
	d.runLiterals(p, n)
	d.repeat(p, n)
}

// runLength finds how many bytes a run has. For a match it goes on where that is repeated.
func (d *decoder) runLength(p phase) (n GPVirtual) {
	n, t := GP64(), GP64()
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
	JE(LabelRef(p.name("Repeat")))
	return n
}

// units makes a loop over n bytes of the page, 16 at once.
func (d *decoder) units(p phase, label string, n GPVirtual, unit func()) {
	Label(p.name(label))
	unit()
	ADDQ(Imm(runUnit), d.out)
	SUBQ(Imm(runUnit), n)
	JNZ(LabelRef(p.name(label)))
	jump(p.name("Check"))
}

// runLiterals copies n literals.
func (d *decoder) runLiterals(p phase, n GPVirtual) {
	t, x := GP64(), XMM()
	MOVQ(d.literalsEnd, t)
	SUBQ(d.literals, t)
	CMPQ(n, t)
	JA(LabelRef("wrong"))
	d.units(p, "Literals", n, func() {
		VMOVDQU(behind(d.literals, 0), x)
		VMOVDQU(x, behind(d.out, 0))
		ADDQ(Imm(runUnit), d.literals)
	})
}

// repeat copies a match of n bytes at the last distance. At distances of less than 16 the bytes of
// each vector follow from those of the one before.
func (d *decoder) repeat(p phase, n GPVirtual) {
	distance, from, row := GP64(), GP64(), GP64()
	x, y, next := XMM(), XMM(), XMM()
	Label(p.name("Repeat"))
	VMOVD(d.recent, distance.As32())
	MOVWQZX(distance.As16(), distance)
	d.source(p, distance, from)
	VMOVDQU(behind(from, 0), x)
	CMPQ(distance, Imm(short))
	JAE(LabelRef(p.name("Whole")))
	MOVQ(distance, row)
	SHLQ(Imm(6), row)
	ADDQ(d.tables, row)
	VPSHUFB(behind(row, shuffleTable), x, x)
	VMOVDQU(behind(row, shuffleTable+short), next)
	d.units(p, "Pattern", n, func() {
		VMOVDQU(x, behind(d.out, 0))
		VPSHUFB(next, x, x)
	})
	d.units(p, "Whole", n, func() {
		VMOVDQU(behind(from, 0), y)
		VMOVDQU(y, behind(d.out, 0))
		ADDQ(Imm(runUnit), from)
	})
}
