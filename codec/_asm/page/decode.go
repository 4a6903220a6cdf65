// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Where things lie in package page's vectorTables.
const (
	tokenTable = 0
	nearTable  = tokenTable + 4*256
	kindTable  = nearTable + 2*256
	rowTable   = kindTable + 64*6
	countTable = rowTable + rowSize*(nearDense+1+runUnit+1)

	rowSize = 128
	farRows = nearDense + 1
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
	kindOthers = kindTable      // the remembered distances that stay
	kindRep    = kindTable + 8  // for BEXTR: which of them it is, or none
	kindNear   = kindTable + 16 // all ones for a near distance
	kindFar    = kindTable + 20 // the bits of a far word that are the distance
	kindExtra  = kindTable + 24 // and those above that are length
	kindNears  = kindTable + 32 // how many near bytes it takes
	kindFars   = kindTable + 40
	kindOrder  = kindTable + 48 // which words of the remembered distances, a near one and a far one are remembered next
)

// A decoder holds the registers that the parts of the routine share.
//
// The last 64 bytes of the page are always in a vector. One permutation of these, of 16 literals
// and of 48 bytes from the match makes the last 64 bytes after a token, whatever the token is: so
// there is no jump to predict but for what is wrong, and no load from memory that was only just
// written but for distances of more than 64 bytes.
type decoder struct {
	next, literals, nears, fars GPVirtual // where to read; far words from the end down
	out                         GPVirtual // where to write
	reps                        GPVirtual
	tables                      GPVirtual
	last                        VecVirtual // the 64 bytes before out

	// Ends of what the registers above go through, and the beginning of the page.
	tokensEnd, literalsEnd, end, start Mem
}

func decode() {
	TEXT("decodeTokensAVX512", NOSPLIT, "func(dst, literals, distances, tokens []byte, tables *byte) bool")
	var d decoder
	d.begin()
	d.last = ZMM()
	VPXORQ(d.last, d.last, d.last)
	d.loop(phase{label: "first", first: true})
	d.loop(phase{label: "main"})
	Label("done")
	// Every byte must have been used, and the page be full.
	CMPQ(d.literals, d.literalsEnd)
	JNE(LabelRef("wrong"))
	CMPQ(d.out, d.end)
	JNE(LabelRef("wrong"))
	CMPQ(d.nears, d.fars)
	JNE(LabelRef("wrong"))
	d.leave(1)
	Label("wrong")
	d.leave(0)
}

func (d *decoder) leave(ok uint8) {
	result := GP8()
	MOVB(U8(ok), result)
	Store(result, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func (d *decoder) begin() {
	registers(&d.next, &d.literals, &d.nears, &d.fars, &d.out, &d.reps, &d.tables)
	d.tokensEnd, d.literalsEnd, d.end, d.start = AllocLocal(8), AllocLocal(8), AllocLocal(8), AllocLocal(8)
	n := GP64()
	bounds := func(name string, first GPVirtual, end Mem) {
		Load(Param(name).Base(), first)
		Load(Param(name).Len(), n)
		ADDQ(first, n)
		MOVQ(n, end)
	}
	bounds("tokens", d.next, d.tokensEnd)
	bounds("literals", d.literals, d.literalsEnd)
	bounds("dst", d.out, d.end)
	MOVQ(d.out, d.start)
	Load(Param("distances").Base(), d.nears)
	Load(Param("distances").Len(), d.fars)
	ADDQ(d.nears, d.fars)
	Load(Param("tables"), d.tables)
	MOVQ(U64(firstReps), d.reps)
}

// A phase is one of two copies of the loop: the first writes the first 64 bytes of the page, where
// less than a vector may be written.
type phase struct {
	label string
	first bool
}

func (p phase) name(s string) string { return p.label + s }

// loop does the tokens of a phase.
func (d *decoder) loop(p phase) {
	Label(p.name("Token"))
	CMPQ(d.next, d.tokensEnd)
	JAE(LabelRef("done"))
	align()
	Label(p.name("Body"))
	token, literals, length, kind, distance := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVBQZX(behind(d.next, 0), token)
	INCQ(d.next)
	CMPL(token.As32(), U32(firstRun))
	JAE(LabelRef(p.name("Run")))
	d.entry(token, literals, length, kind)
	d.distance(kind, token, distance, length)
	d.remember(kind, distance)
	d.place(p, literals, length, distance)
	d.run(p)
}

// entry gets what a token says.
func (d *decoder) entry(token, literals, length, kind GPVirtual) {
	MOVBQZX(at(d.tables, token, 4, tokenTable+tokenLiterals), literals)
	MOVBQZX(at(d.tables, token, 4, tokenTable+tokenLength), length)
	MOVWQZX(at(d.tables, token, 4, tokenTable+tokenKind), kind)
}

// distance finds the distance of a kind, and adds to length what a far word says. It overwrites t.
func (d *decoder) distance(kind, t, distance, length GPVirtual) {
	u := GP64()
	MOVWLZX(behind(d.fars, -2), distance.As32())
	MOVL(distance.As32(), t.As32())
	SHRL(Imm(12), t.As32())
	ANDL(at(d.tables, kind, 1, kindExtra), t.As32())
	ADDQ(t, length)
	ANDL(at(d.tables, kind, 1, kindFar), distance.As32())
	MOVBQZX(behind(d.nears, 0), t)
	MOVWLZX(at(d.tables, t, 2, nearTable), t.As32())
	ANDL(at(d.tables, kind, 1, kindNear), t.As32())
	ORL(t.As32(), distance.As32())
	MOVQ(at(d.tables, kind, 1, kindRep), u)
	BEXTRQ(u, d.reps, u)
	ORQ(u, distance)
	ADDQ(at(d.tables, kind, 1, kindNears), d.nears)
	SUBQ(at(d.tables, kind, 1, kindFars), d.fars)
	CMPQ(d.nears, d.fars)
	JA(LabelRef("wrong"))
}

// remember moves the distance to the front of the others.
func (d *decoder) remember(kind, distance GPVirtual) {
	PEXTQ(at(d.tables, kind, 1, kindOthers), d.reps, d.reps)
	SHLQ(Imm(16), d.reps)
	ORQ(distance, d.reps)
}

// place writes literals and a match: it checks that they are there and have room, and permutes.
func (d *decoder) place(p phase, literals, length, distance GPVirtual) {
	from, row, first := GP64(), GP64(), GP64()
	source, index := ZMM(), ZMM()
	MOVQ(d.literals, first)
	ADDQ(literals, d.literals)
	CMPQ(d.literals, d.literalsEnd)
	JA(LabelRef("wrong"))
	ADDQ(literals, d.out)
	d.inPage(p, distance, from, row)
	// A match from the vector takes the row of its distance. A far one takes that of the number of
	// literals, and its bytes from memory.
	LEAQ(behind(d.out, -runUnit), from)
	SUBQ(distance, from)
	LEAQ(behind(literals, farRows), row)
	CMPQ(distance, Imm(nearDense))
	CMOVQLS(distance, row)
	CMOVQLS(d.start, from)
	SHLQ(Imm(7), row)
	CMPQ(from, d.start)
	JB(LabelRef(p.name("Beginning")))
	VMOVDQU64(behind(from, 0), source)
	Label(p.name("Loaded"))
	VINSERTI32X4(Imm(0), behind(first, 0), source, source)
	ADDQ(length, literals)
	ADDQ(length, row)
	VMOVDQU64(at(d.tables, literals, 1, countTable), index)
	VPSUBB(at(d.tables, row, 1, rowTable), index, index)
	VPERMI2B(source, d.last, index)
	VMOVDQA64(index, d.last)
	ADDQ(length, d.out)
	CMPQ(d.out, d.end)
	JA(LabelRef("wrong"))
	d.store(p, "Placed")
	// The match begins before the page, or with its first bytes: then nothing may be read that
	// would be replaced by literals.
	Label(p.name("Beginning"))
	ADDQ(Imm(runUnit), from)
	CMPQ(from, d.start)
	JB(LabelRef("wrong"))
	VMOVDQU64(behind(from, 0), source)
	VALIGNQ(Imm(8-runUnit/8), source, source, source)
	jump(p.name("Loaded"))
}

// inPage refuses a distance of zero and, while the page is shorter than the vector, those of its
// bytes that are not there yet.
func (d *decoder) inPage(p phase, distance, t, u GPVirtual) {
	if !p.first {
		TESTQ(distance, distance)
		JZ(LabelRef("wrong"))
		return
	}
	MOVQ(d.out, t)
	SUBQ(d.start, t)
	LEAQ(behind(distance, -1), u)
	CMPQ(u, t)
	JAE(LabelRef("wrong"))
}

// store writes the last 64 bytes, in the first phase as many of them as there are, and goes on with
// the next token.
func (d *decoder) store(p phase, label string) {
	if p.first {
		d.storeSome(label)
	}
	VMOVDQU64(d.last, behind(d.out, -64))
	CMPQ(d.next, d.tokensEnd)
	JB(LabelRef("mainBody"))
	jump("done")
}

// storeSome writes the page's bytes where it has fewer than 64 and goes on, and does nothing
// otherwise.
func (d *decoder) storeSome(label string) {
	n, start, index := GP64(), GP64(), ZMM()
	d.some(n, label)
	// The index is taken modulo 64: the page's first byte comes first.
	NEGQ(n)
	ADDQ(d.tables, n)
	VMOVDQU64(behind(n, countTable+64), index)
	VPERMB(d.last, index, index)
	MOVQ(d.start, start)
	VMOVDQU64(index, behind(start, 0))
	jump("firstToken")
	Label(label)
}

// some jumps to label where the page has 64 bytes, and else finds how many.
func (d *decoder) some(n GPVirtual, label string) {
	MOVQ(d.out, n)
	SUBQ(d.start, n)
	CMPQ(n, Imm(64))
	JAE(LabelRef(label))
}
