// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Where things lie in package page's vectorTables.
const (
	tokenTable   = 0
	nearTable    = tokenTable + 4*256
	kindTable    = nearTable + 2*256
	shuffleTable = kindTable + 64*6
)

// Where things lie in a token's entry.
const (
	tokenLiterals = 0
	tokenLength   = 1
	tokenKind     = 2 // where the kind's row begins
	firstRun      = 254
)

// Where things lie in a row of the table of kinds.
const (
	kindOrder = kindTable      // which words of the remembered distances, a near one and a far one are remembered next
	kindNears = kindTable + 16 // how many near bytes it takes
	kindFars  = kindTable + 24
	kindExtra = kindTable + 32 // the bits of a far word above the distance that are length
)

const (
	short       = 16                      // bytes in a vector
	atRest      = 2 * short               // how many bytes of a match are copied without a jump
	longest     = 3 * short               // and how many in all
	writeMargin = short + longest         // how far behind its place a token writes: literals, match
	history     = 128                     // how much of the page the tail repeats
	tailSize    = history + 2*writeMargin // of the tail, in bytes
)

// A decoder holds the registers that the parts of the routine share.
//
// It copies through memory, by vectors of 16 bytes. The jumps that are hard to predict are those
// for the distances of less than that, a tenth, and for matches of more than 32 bytes, one in
// forty.
//
// Near the page's end vectors would be too long for the page. The last tokens write to a tail on
// the stack instead, behind a copy of the page's last bytes, and the routine copies that back.
type decoder struct {
	next, literals, nears, fars GPVirtual // where to read; far words from the end down
	out                         GPVirtual // where to write
	tables                      GPVirtual
	recent                      VecVirtual // the remembered distances
	distanceBits                VecVirtual // of a near distance and a far word

	// Ends of what the registers above go through, and the beginning of the page.
	tokensEnd, literalsEnd, end, start Mem

	limit Mem // where in the page the tail begins to serve
	tail  Mem
	shift Mem // what leads from a place in the page to the same byte in the tail
}

// A phase is one of two copies of the loop, for the page and for its tail.
type phase struct {
	label string
	tail  bool
}

func (p phase) name(s string) string { return p.label + s }

func decode() {
	TEXT("decodeTokensAVX2", NOSPLIT, "func(dst, literals, distances, tokens []byte, tables *byte) bool")
	var d decoder
	d.begin()
	page, tail := phase{label: "page"}, phase{label: "tail", tail: true}
	d.loop(page)
	d.enterTail()
	d.loop(tail)
	d.leaveTail()
	for _, p := range []phase{page, tail} {
		d.run(p)
	}
	Label("wrong")
	d.answer(0)
}

func (d *decoder) begin() {
	registers(&d.next, &d.literals, &d.nears, &d.fars, &d.out, &d.tables)
	for _, place := range []*Mem{&d.tokensEnd, &d.literalsEnd, &d.end, &d.start, &d.limit, &d.shift} {
		*place = AllocLocal(8)
	}
	d.tail = AllocLocal(tailSize)
	n := GP64()
	d.bounds(n)
	SUBQ(Imm(writeMargin), n)
	MOVQ(n, d.limit)
	Load(Param("distances").Base(), d.nears)
	Load(Param("distances").Len(), d.fars)
	ADDQ(d.nears, d.fars)
	Load(Param("tables"), d.tables)
	d.recent, d.distanceBits = XMM(), XMM()
	MOVQ(U64(firstReps), n)
	VMOVQ(n, d.recent)
	MOVL(U32(0x0fff0fff), n.As32())
	VMOVD(n.As32(), d.distanceBits)
}

// bounds gets where the tokens, the literals and the text begin and end, by way of n, which then
// holds where the text ends.
func (d *decoder) bounds(n GPVirtual) {
	get := func(name string, first GPVirtual, end Mem) {
		Load(Param(name).Base(), first)
		Load(Param(name).Len(), n)
		ADDQ(first, n)
		MOVQ(n, end)
	}
	get("tokens", d.next, d.tokensEnd)
	get("literals", d.literals, d.literalsEnd)
	get("dst", d.out, d.end)
	MOVQ(d.out, d.start)
}

func (d *decoder) answer(ok uint8) {
	result := GP8()
	MOVB(U8(ok), result)
	Store(result, ReturnIndex(0))
	RET()
}

// loop does the tokens of a phase, the page or its tail. In the page it goes on behind the loop
// where the tail begins.
func (d *decoder) loop(p phase) {
	jump(p.name("Check"))
	align()
	Label(p.name("Token"))
	token, literals, length, kind, distance := GP64(), GP64(), GP64(), GP64(), GP64()
	x := XMM()
	MOVBQZX(behind(d.next, 0), token)
	INCQ(d.next)
	CMPL(token.As32(), U32(firstRun))
	JAE(LabelRef(p.name("Run")))
	d.entry(token, literals, length, kind)
	d.recall(kind, distance, length)
	VMOVDQU(behind(d.literals, 0), x)
	VMOVDQU(x, behind(d.out, 0))
	ADDQ(literals, d.literals)
	CMPQ(d.literals, d.literalsEnd)
	JA(LabelRef("wrong"))
	ADDQ(literals, d.out)
	d.match(p, length, distance)
	Label(p.name("Check"))
	CMPQ(d.next, d.tokensEnd)
	JAE(LabelRef(p.name("Done")))
	if p.tail {
		CMPQ(d.out, d.end)
	} else {
		CMPQ(d.out, d.limit)
	}
	JBE(LabelRef(p.name("Token")))
	if p.tail {
		jump("wrong")
	}
}

// entry gets what a token says.
func (d *decoder) entry(token, literals, length, kind GPVirtual) {
	MOVBQZX(at(d.tables, token, 4, tokenTable+tokenLiterals), literals)
	MOVBQZX(at(d.tables, token, 4, tokenTable+tokenLength), length)
	MOVWQZX(at(d.tables, token, 4, tokenTable+tokenKind), kind)
}

// recall finds the distance of a kind, adds to length what a far word says, and remembers the
// distance. Its one vector holds the remembered distances, the near one and the far one; a
// permutation makes of these what is remembered next, so that a token waits for the one before
// it in two instructions.
func (d *decoder) recall(kind, distance, length GPVirtual) {
	near, far, x := GP64(), GP64(), XMM()
	MOVBQZX(behind(d.nears, 0), near)
	MOVWLZX(behind(d.fars, -2), far.As32())
	VMOVD(at(d.tables, near, 2, nearTable), x)
	VPINSRW(Imm(1), behind(d.fars, -2), x, x)
	VPAND(d.distanceBits, x, x)
	SHRL(Imm(12), far.As32())
	ANDL(at(d.tables, kind, 1, kindExtra), far.As32())
	ADDQ(far, length)
	ADDQ(at(d.tables, kind, 1, kindNears), d.nears)
	SUBQ(at(d.tables, kind, 1, kindFars), d.fars)
	CMPQ(d.nears, d.fars)
	JA(LabelRef("wrong"))
	VPUNPCKLQDQ(x, d.recent, x)
	VPSHUFB(at(d.tables, kind, 1, kindOrder), x, d.recent)
	VMOVD(d.recent, distance.As32())
	MOVWLZX(distance.As16(), distance.As32())
}

// source finds where a match comes from and refuses what is not in the page.
func (d *decoder) source(p phase, distance, from GPVirtual) {
	MOVQ(d.out, from)
	SUBQ(distance, from)
	TESTQ(distance, distance)
	JZ(LabelRef("wrong"))
	CMPQ(from, d.start)
	JB(LabelRef("wrong"))
	if p.tail {
		d.inTailOrPage(from)
	}
}

// inTailOrPage turns a place in the tail into the same one of the page where it lies before the
// copy of the page's last bytes: then the bytes from there to the end of a match do too.
func (d *decoder) inTailOrPage(from GPVirtual) {
	page, tail := GP64(), GP64()
	MOVQ(from, page)
	SUBQ(d.shift, page)
	LEAQ(d.tail, tail)
	CMPQ(from, tail)
	CMOVQCS(page, from)
}

// match copies a match. A distance of less than 16 makes it spread the bytes that repeat over each
// vector.
func (d *decoder) match(p phase, length, distance GPVirtual) {
	from, row, spread := GP64(), distance, XMM()
	d.source(p, distance, from)
	CMPQ(distance, Imm(short))
	JB(LabelRef(p.name("Near")))
	d.copy(p, from, length)
	Label(p.name("Near"))
	d.spread(from, row, spread)
	Label(p.name("Copied"))
	ADDQ(length, d.out)
}

// copy copies a match whose distance is a vector or more.
func (d *decoder) copy(p phase, from, length GPVirtual) {
	vectors := func(first, behindLast int) {
		for i := first; i < behindLast; i += short {
			x := XMM()
			VMOVDQU(behind(from, i), x)
			VMOVDQU(x, behind(d.out, i))
		}
	}
	vectors(0, atRest)
	CMPQ(length, Imm(atRest))
	JBE(LabelRef(p.name("Copied")))
	vectors(atRest, longest)
	jump(p.name("Copied"))
}

// spread writes the bytes that a shorter distance repeats; row holds that distance.
func (d *decoder) spread(from, row GPVirtual, bytes VecVirtual) {
	SHLQ(Imm(6), row)
	ADDQ(d.tables, row)
	VMOVDQU(behind(from, 0), bytes)
	for i := 0; i < longest; i += short {
		x := XMM()
		VPSHUFB(behind(row, shuffleTable+i), bytes, x)
		VMOVDQU(x, behind(d.out, i))
	}
}

// used checks that nothing is left of the literals and the distances.
func (d *decoder) used() {
	CMPQ(d.literals, d.literalsEnd)
	JNE(LabelRef("wrong"))
	CMPQ(d.nears, d.fars)
	JNE(LabelRef("wrong"))
}

// enterTail copies the page's last bytes to the tail and goes on in it.
func (d *decoder) enterTail() {
	tail, shift, t := GP64(), GP64(), GP64()
	LEAQ(d.tail.Offset(history), tail)
	MOVQ(tail, shift)
	SUBQ(d.out, shift)
	MOVQ(shift, d.shift)
	for i := 0; i < history; i += short {
		x := XMM()
		VMOVDQU(behind(d.out, i-history), x)
		VMOVDQU(x, behind(tail, i-history))
	}
	MOVQ(tail, d.out)
	for _, place := range []Mem{d.start, d.end} {
		MOVQ(place, t)
		ADDQ(shift, t)
		MOVQ(t, place)
	}
}

// leaveTail checks that every byte was used and the page is full, and copies the tail back.
func (d *decoder) leaveTail() {
	Label("tailDone")
	CMPQ(d.out, d.end)
	JNE(LabelRef("wrong"))
	page := GP64()
	MOVQ(d.out, page)
	SUBQ(d.shift, page)
	for i := -writeMargin; i < 0; i += short {
		x := XMM()
		VMOVDQU(behind(d.out, i), x)
		VMOVDQU(x, behind(page, i))
	}
	Label("used")
	d.used()
	d.answer(1)
	// Where no token was left for the tail, the page is full only if a run filled it.
	Label("pageDone")
	CMPQ(d.out, d.end)
	JEQ(LabelRef("used"))
	jump("wrong")
}
