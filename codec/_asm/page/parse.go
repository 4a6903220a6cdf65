// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Where the fields of package page's search lie.
const (
	searchAt       = 0
	searchAnchor   = 8
	searchReps     = 16
	searchLiterals = 24
	searchNears    = 32
	searchFars     = 40
	searchTokens   = 48
	foundAt        = 56
	foundLength    = 64
	foundDistance  = 72
	foundKind      = 80
	searchTable    = 96
	searchPage     = searchTable + 2*4096 + margin
	literalStream  = searchPage + size + margin
	tokenStream    = literalStream + size + margin
	nearStream     = tokenStream + size + margin
	farStream      = nearStream + size + margin
)

// A parser holds the registers that the parts of the routine share.
type parser struct {
	s        GPVirtual    // the search
	anchor   GPVirtual    // where the bytes begin that are in no stream yet
	reps     GPVirtual    // the remembered distances
	first    GPVirtual    // the position of the window's first byte
	masks    [4]GPVirtual // of the window's bytes, those that repeat at each remembered distance
	at, from GPVirtual    // the position looked up and the one that the table had
	pos      GPVirtual    // where the next match at a remembered distance begins, and then where the chosen match does
	distance GPVirtual    // the chosen match's
	length   GPVirtual
	kind     GPVirtual
	factor   Mem
	plans    Mem
	window   window

	step  int  // every which position is looked up
	last  int  // behind the last position at which a match may begin
	dense bool // parses as parseDenseGeneric does
	later Mem  // the best match at the position behind that looked up, for the dense level
}

func parse() {
	TEXT("parseTokensAVX2", NOSPLIT, "func(s, plans *byte) bool")
	p := parser{step: tableStep, last: lastStart}
	p.routine()
}

// routine writes the whole of it.
func (p *parser) routine() {
	p.begin()
	p.compare()
	p.lookUp()
	p.remembered()
	p.entered()
	p.edge()
	// A match that takes more than a plan is left to the caller.
	Label("leave")
	MOVQ(p.pos, behind(p.s, foundAt))
	MOVQ(p.length, behind(p.s, foundLength))
	MOVQ(p.distance, behind(p.s, foundDistance))
	MOVQ(p.kind, behind(p.s, foundKind))
	p.end(1)
	Label("done")
	p.end(0)
}

func (p *parser) begin() {
	registers(&p.s, &p.anchor, &p.reps, &p.first, &p.at, &p.from, &p.pos, &p.distance, &p.length, &p.kind,
		&p.masks[0], &p.masks[1], &p.masks[2], &p.masks[3])
	p.plans, p.factor = AllocLocal(8), AllocLocal(8)
	Load(Param("plans"), p.pos)
	MOVQ(p.pos, p.plans)
	MOVQ(U64(hashFactor), p.pos)
	MOVQ(p.pos, p.factor)
	Load(Param("s"), p.s)
	MOVQ(behind(p.s, searchAt), p.first)
	MOVQ(behind(p.s, searchAnchor), p.anchor)
	MOVQ(behind(p.s, searchReps), p.reps)
	if p.dense {
		p.beginDense()
	}
}

// end stores what the registers hold. Of a match that is left to the caller, emit finds where to go
// on.
func (p *parser) end(found uint8) {
	result := GP8()
	MOVQ(p.anchor, behind(p.s, searchAnchor))
	MOVQ(p.reps, behind(p.s, searchReps))
	MOVB(U8(found), result)
	Store(result, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// compare compares the 64 bytes from first on with those at the remembered distances, a bit a byte.
func (p *parser) compare() {
	Label("next")
	CMPQ(p.first, U32(uint32(p.last)))
	JGE(LabelRef("done"))
	align()
	Label("window")
	p.window.load(at(p.s, p.first, 1, searchPage))
	for i, mask := range p.masks {
		p.rep(i, p.kind)
		MOVQ(p.first, p.distance)
		SUBQ(p.kind, p.distance)
		p.window.equal(at(p.s, p.distance, 1, searchPage), mask, p.kind)
	}
	// Near the page's beginning and its end not all of that counts.
	LEAQ(behind(p.first, -nearEdge), p.kind)
	CMPQ(p.kind, U32(size-64-nearEdge))
	JA(LabelRef("edge"))
	p.starts()
	BTSQ(Imm(reach), p.kind)
	p.candidates()
}

// nearEdge is the largest of the distances that are remembered at first.
const nearEdge = 16

// rep extracts a remembered distance.
func (p *parser) rep(i int, to GPVirtual) {
	switch i {
	case 0:
		MOVWQZX(p.reps.As16(), to)
	case 3:
		MOVQ(p.reps, to)
		SHRQ(Imm(48), to)
	default:
		MOVQ(p.reps, to)
		SHRQ(Imm(uint64(16*i)), to)
		MOVWQZX(to.As16(), to)
	}
}

// starts makes, in kind, the mask of the positions at which a match at a remembered distance may
// begin.
func (p *parser) starts() {
	for i, m := range p.masks {
		to := p.distance
		if i == 0 {
			to = p.kind
		}
		MOVQ(m, to)
		SHRQ(Imm(1), to)
		ANDQ(m, to)
		if i >= 2 {
			MOVQ(to, p.length)
			SHRQ(Imm(1), p.length)
			ANDQ(p.length, to)
		}
		if i > 0 {
			ORQ(to, p.kind)
		}
	}
}

// candidates finds the first of them, and the first position to look up.
func (p *parser) candidates() {
	TZCNTQ(p.kind, p.pos)
	ADDQ(p.first, p.pos)
	LEAQ(behind(p.first, p.step-1), p.at)
	if p.step > 1 {
		ANDQ(I32(int32(-p.step)), p.at)
	}
}

// lookUp goes through the positions before pos and enters each into the table.
func (p *parser) lookUp() {
	x, hash := p.distance, p.length
	CMPQ(p.at, p.pos)
	JAE(LabelRef("remembered"))
	Label("probe")
	MOVQ(at(p.s, p.at, 1, searchPage), x)
	MOVQ(p.factor, hash)
	IMULQ(x, hash)
	SHRQ(Imm(hashShift), hash)
	MOVWQZX(at(p.s, hash, 2, searchTable), p.from)
	MOVW(p.at.As16(), at(p.s, hash, 2, searchTable))
	CMPL(x.As32(), at(p.s, p.from, 1, searchPage))
	JE(LabelRef("entered"))
	ADDQ(Imm(uint64(p.step)), p.at)
	CMPQ(p.at, p.pos)
	JB(LabelRef("probe"))
}

// remembered takes the longest match at a remembered distance at pos, and of equals the most recent
// distance's.
func (p *parser) remembered() {
	m, t := p.masks, p.at
	Label("remembered")
	MOVQ(p.pos, t)
	SUBQ(p.first, t)
	CMPQ(t, Imm(reach))
	JAE(LabelRef("nothing"))
	CMPQ(p.pos, U32(uint32(p.last)))
	JAE(LabelRef("done"))
	p.longest(t)
	if p.dense {
		Label("later")
	}
	MOVQ(m[0], p.length)
	SHRQ(Imm(3), p.length)
	NOTQ(m[0])
	ANDL(Imm(7), m[0].As32())
	MOVQ(m[0], p.kind)
	SHLQ(Imm(4), m[0])
	SHRXQ(m[0], p.reps, p.distance)
	MOVWQZX(p.distance.As16(), p.distance)
	ADDQ(p.length, t)
	CMPQ(t, Imm(64))
	JAE(LabelRef("rememberedOn"))
	Label("rememberedWhole")
	plan, count := m[1], m[2]
	p.plan(plan, count, m[3])
	// Those before its place move back, those behind it stay.
	BZHIQ(m[0], p.reps, t)
	ADDQ(Imm(16), m[0])
	BZHIQ(m[0], p.reps, m[0])
	XORQ(m[0], p.reps)
	SHLQ(Imm(16), t)
	ORQ(t, p.reps)
	ORQ(p.distance, p.reps)
	p.emit(plan, count, m[3])
	Label("nothing")
	ADDQ(Imm(reach), p.first)
	jump("next")
	Label("rememberedOn")
	ADDQ(p.first, t)
	p.extend(t, m[1], m[2], "rememberedMore")
	MOVQ(t, p.length)
	SUBQ(p.pos, p.length)
	jump("rememberedWhole")
}

// longest finds the longest match at a remembered distance, and of equals the most recent
// distance's: it makes the first mask its length and, in three bits below it, seven less the kind.
// The other masks are lost.
func (p *parser) longest(t GPVirtual) {
	m := p.masks
	for i := range m {
		SHRXQ(t, m[i], m[i])
		NOTQ(m[i])
		TZCNTQ(m[i], m[i])
		SHLQ(Imm(3), m[i])
		ORQ(Imm(uint64(7-i)), m[i])
	}
	for _, pair := range [][2]GPVirtual{{m[1], m[0]}, {m[3], m[2]}, {m[2], m[0]}} {
		CMPQ(pair[0], pair[1])
		CMOVQHI(pair[0], pair[1])
	}
}

// extend moves end on over what repeats at the distance, to the page's end at most.
func (p *parser) extend(end, from, n GPVirtual, label string) {
	Label(label)
	p.window.load(at(p.s, end, 1, searchPage))
	MOVQ(end, from)
	SUBQ(p.distance, from)
	p.window.equal(at(p.s, from, 1, searchPage), n, from)
	NOTQ(n)
	TZCNTQ(n, n)
	ADDQ(n, end)
	MOVL(U32(size), from.As32())
	CMPQ(end, from)
	CMOVQHI(from, end)
	JAE(LabelRef(label + "Done"))
	CMPQ(n, Imm(64))
	JEQ(LabelRef(label))
	Label(label + "Done")
}

// plan loads the chosen match's plan and its number of tokens. It leaves a match without a plan to
// the caller.
func (p *parser) plan(plan, count, literals GPVirtual) {
	MOVQ(p.pos, literals)
	SUBQ(p.anchor, literals)
	CMPQ(literals, Imm(planLiterals))
	JAE(LabelRef("leave"))
	CMPQ(p.length, Imm(planLength+minLength))
	JAE(LabelRef("leave"))
	MOVQ(p.kind, plan)
	SHLQ(Imm(4), plan)
	ADDQ(literals, plan)
	SHLQ(Imm(6), plan)
	ADDQ(p.length, plan)
	MOVQ(p.plans, count)
	MOVL(at(count, plan, 4, -4*minLength), plan.As32())
	MOVL(plan.As32(), count.As32())
	SHRL(Imm(24), count.As32())
	ANDL(Imm(3), count.As32())
	JZ(LabelRef("leave"))
}

// emit writes the literals and the tokens of a plan, and goes on behind the match.
func (p *parser) emit(plan, count, literals GPVirtual) {
	t, x := p.at, XMM()
	VMOVDQU(at(p.s, p.anchor, 1, searchPage), x)
	MOVQ(behind(p.s, searchLiterals), t)
	VMOVDQU(x, at(p.s, t, 1, literalStream))
	ADDQ(literals, behind(p.s, searchLiterals))
	MOVQ(behind(p.s, searchTokens), t)
	MOVL(plan.As32(), at(p.s, t, 1, tokenStream))
	ADDQ(count, behind(p.s, searchTokens))
	LEAQ(at(p.pos, p.length, 1, 0), p.first)
	MOVQ(p.first, p.anchor)
	if p.dense {
		p.enterLast(t, plan)
	}
	CMPQ(p.first, U32(uint32(p.last)))
	JB(LabelRef("window"))
	jump("done")
}

// edge leaves out of the masks what lies before the page, where a distance is larger than the
// position, and behind it.
func (p *parser) edge() {
	t, left := p.distance, p.length
	Label("edge")
	MOVL(U32(size), left.As32())
	SUBQ(p.first, left)
	for i, m := range p.masks {
		p.rep(i, t)
		XORL(p.kind.As32(), p.kind.As32())
		SUBQ(p.first, t)
		CMOVQLS(p.kind, t)
		SHRXQ(t, m, m)
		SHLXQ(t, m, m)
		MOVL(U32(64), p.kind.As32())
		CMPQ(left, p.kind)
		CMOVQCS(left, p.kind)
		BZHIQ(p.kind, m, m)
	}
	p.starts()
	MOVL(U32(uint32(p.last)), t.As32())
	SUBQ(p.first, t)
	MOVL(U32(reach), p.length.As32())
	CMPQ(p.length, t)
	CMOVQCS(p.length, t)
	BZHIQ(t, p.kind, p.kind)
	BTSQ(t, p.kind)
	p.candidates()
	// Every slot of the table that was never written holds position 0.
	MOVL(U32(uint32(p.step)), t.As32())
	TESTQ(p.at, p.at)
	CMOVQEQ(t, p.at)
	CMPQ(p.at, p.pos)
	JB(LabelRef("probe"))
	jump("remembered")
}
