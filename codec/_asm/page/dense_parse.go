// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Package page uses the same names.
const (
	lastDense   = size - 3
	byteWorth   = 20
	literalCost = 73
	nearCost    = 60
	farCost     = 148
	rankCost    = 8
)

// parseDense is the parse of the dense level: the plain level's, with every position looked up and
// matches of the table given up for later ones.
func parseDense() {
	TEXT("parseDenseTokensAVX2", NOSPLIT, "func(s, plans *byte) bool")
	p := parser{step: 1, last: lastDense, dense: true}
	p.routine()
}

// beginDense enters the position before last in the match before, which was the caller's.
func (p *parser) beginDense() {
	p.later = AllocLocal(8)
	CMPQ(p.first, Imm(2))
	JB(LabelRef("next"))
	p.enterLast(p.at, p.from)
}

// enterLast enters the position two before first.
func (p *parser) enterLast(x, position GPVirtual) {
	MOVQ(at(p.s, p.first, 1, searchPage-2), x)
	IMULQ(p.factor, x)
	SHRQ(Imm(hashShift), x)
	LEAQ(behind(p.first, -2), position)
	MOVW(position.As16(), at(p.s, x, 2, searchTable))
}

// findLater finds the longest match at a remembered distance at the position behind at.
func (p *parser) findLater() {
	t := p.length
	LEAQ(behind(p.at, 1), t)
	SUBQ(p.first, t)
	p.longest(t)
	MOVQ(p.masks[0], p.later)
}

// orLater jumps to where that match is taken, if it is worth more. Both are weighed from the
// position that was looked up on: the bytes of one begin before it, and so do fewer literals.
func (p *parser) orLater(back, code, t, u GPVirtual) {
	worth, cost := p.from, t
	MOVQ(p.later, u)
	MOVQ(u, worth)
	SHRQ(Imm(3), worth)
	IMUL3Q(Imm(byteWorth), worth, worth)
	MOVL(u.As32(), cost.As32())
	ANDL(Imm(7), cost.As32())
	LEAQ(Mem{Base: worth, Index: cost, Scale: rankCost}, worth)
	IMUL3Q(U32(farCost-nearCost), p.kind, cost)
	ADDQ(cost, worth)
	IMUL3Q(Imm(byteWorth), p.length, cost)
	SUBQ(cost, worth)
	IMUL3Q(U32(literalCost), back, cost)
	SUBQ(cost, worth)
	// The rest are constants: seven less the rank was added, and the kind counted from 0 instead of
	// from near.
	CMPQ(worth, U32(literalCost-byteWorth+7*rankCost+kindFar5*(farCost-nearCost)-farCost))
	JLE(LabelRef("notLater"))
	CMPQ(u, Imm(minLength<<3))
	JB(LabelRef("notLater"))
	MOVQ(u, p.masks[0])
	LEAQ(behind(p.at, 1), p.pos)
	MOVQ(p.pos, p.at)
	SUBQ(p.first, p.at)
	jump("later")
	Label("notLater")
}
