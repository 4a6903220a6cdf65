// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// entered takes the match with the position that the table had, back to the anchor at most.
func (p *parser) entered() {
	m := p.masks
	back, t := m[0], m[1]
	Label("entered")
	if p.dense {
		p.findLater()
	}
	p.window.load(at(p.s, p.at, 1, searchPage))
	p.window.equal(at(p.s, p.from, 1, searchPage), p.length, back)
	NOTQ(p.length)
	TZCNTQ(p.length, p.length)
	MOVQ(at(p.s, p.at, 1, searchPage-8), back)
	XORQ(at(p.s, p.from, 1, searchPage-8), back)
	LZCNTQ(back, back)
	SHRQ(Imm(3), back)
	MOVQ(p.at, t)
	SUBQ(p.anchor, t)
	CMPQ(t, back)
	CMOVQCS(t, back)
	CMPQ(p.from, back)
	CMOVQCS(p.from, back)
	MOVQ(p.at, p.distance)
	SUBQ(p.from, p.distance)
	MOVQ(p.at, p.pos)
	SUBQ(back, p.pos)
	p.nearOrFar(m[2], t)
	if p.dense {
		p.clamp(t)
	}
	CMPQ(p.length, Imm(64))
	JAE(LabelRef("enteredOn"))
	if p.dense {
		p.orLater(back, m[2], t, m[3])
	} else {
		p.clamp(t)
	}
	Label("enteredWhole")
	ADDQ(back, p.length)
	plan, count, literals := m[0], m[1], m[3]
	p.plan(plan, count, literals)
	SHLQ(Imm(16), p.reps)
	ORQ(p.distance, p.reps)
	p.distances(m[2], plan)
	p.emit(plan, count, literals)
	Label("enteredOn")
	LEAQ(behind(p.at, 64), t)
	p.extend(t, p.from, m[3], "enteredMore")
	MOVQ(t, p.length)
	SUBQ(p.at, p.length)
	jump("enteredWhole")
}

// clamp ends the match at at with the page: what lies behind may look like more of it.
func (p *parser) clamp(t GPVirtual) {
	MOVL(U32(size), t.As32())
	SUBQ(p.at, t)
	CMPQ(t, p.length)
	CMOVQCS(t, p.length)
}

// nearOrFar finds the kind of a match at a new distance and, in code, its near byte, or 256 and
// more.
func (p *parser) nearOrFar(code, t GPVirtual) {
	// A multiple of eight turns into an eighth, all others into large numbers.
	MOVL(p.distance.As32(), code.As32())
	RORL(Imm(3), code.As32())
	ADDL(Imm(nearDense-1-nearDense/8), code.As32())
	LEAL(behind(p.distance, -1), t.As32())
	CMPQ(p.distance, Imm(nearDense))
	CMOVLLS(t.As32(), code.As32())
	MOVL(U32(kindFar5), p.kind.As32())
	CMPL(code.As32(), U32(256))
	SBBQ(Imm(0), p.kind)
}

// kindFar5 is the number of the kind far; near is one less.
const kindFar5 = 5

// distances writes the near byte or the far word: both, and counts the right one.
func (p *parser) distances(code, plan GPVirtual) {
	t, n := p.at, p.from
	MOVQ(behind(p.s, searchNears), t)
	MOVB(code.As8(), at(p.s, t, 1, nearStream))
	MOVL(plan.As32(), n.As32())
	SHRL(Imm(28), n.As32())
	SHLL(Imm(12), n.As32())
	ORL(p.distance.As32(), n.As32())
	MOVQ(behind(p.s, searchFars), code)
	MOVW(n.As16(), at(p.s, code, 1, farStream))
	LEAQ(behind(p.kind, -kindFar5+1), n)
	SUBQ(n, t)
	INCQ(t)
	MOVQ(t, behind(p.s, searchNears))
	LEAQ(at(code, n, 2, 0), code)
	MOVQ(code, behind(p.s, searchFars))
}
