// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	shuffleTable = countTable + 3*64
	short        = 16                      // bytes in a vector
	atRest       = 2 * short               // how many bytes of a match are copied without a jump
	longest      = 3 * short               // and how many in all
	writeMargin  = short + longest         // how far behind its place a token writes: literals, match
	history      = 128                     // how much of the page the tail repeats
	tailSize     = history + 2*writeMargin // of the tail, in bytes
)

// A shortDecoder is the decoder for machines without the permutation of whole vectors. It copies
// through memory, by vectors of 16 bytes. The jumps that are hard to predict are those for the
// distances of less than that, a tenth, and for matches of more than 32 bytes, one in forty.
//
// Near the page's end vectors would be too long for the page. The last tokens write to a tail on
// the stack instead, behind a copy of the page's last bytes, and the routine copies that back.
type shortDecoder struct {
	decoder
	recent       VecVirtual // the remembered distances
	distanceBits VecVirtual // of a near distance and a far word
	limit        Mem        // where in the page the tail begins to serve
	tail         Mem
	shift        Mem // what leads from a place in the page to the same byte in the tail
}

func decodeShort() {
	TEXT("decodeTokensAVX2", NOSPLIT, "func(dst, literals, distances, tokens []byte, tables *byte) bool")
	d := shortDecoder{limit: AllocLocal(8), shift: AllocLocal(8)}
	d.begin()
	d.tail = AllocLocal(tailSize)
	n := GP64()
	d.recent, d.distanceBits = XMM(), XMM()
	VMOVQ(d.reps, d.recent)
	MOVL(U32(0x0fff0fff), n.As32())
	VMOVD(n.As32(), d.distanceBits)
	MOVQ(d.end, n)
	SUBQ(Imm(writeMargin), n)
	MOVQ(n, d.limit)
	page, tail := phase{label: "page"}, phase{label: "tail", first: true}
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

func (d *shortDecoder) answer(ok uint8) {
	result := GP8()
	MOVB(U8(ok), result)
	Store(result, ReturnIndex(0))
	RET()
}

// loop does the tokens of a phase, the page or its tail. In the page it goes on behind the loop
// where the tail begins.
func (d *shortDecoder) loop(p phase) {
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
	if p.first {
		CMPQ(d.out, d.end)
	} else {
		CMPQ(d.out, d.limit)
	}
	JBE(LabelRef(p.name("Token")))
	if p.first {
		jump("wrong")
	}
}

// recall finds the distance of a kind, adds to length what a far word says, and remembers the
// distance. Its one vector holds the remembered distances, the near one and the far one; a
// permutation makes of these what is remembered next, so that a token waits for the one before
// it in two instructions.
func (d *shortDecoder) recall(kind, distance, length GPVirtual) {
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
func (d *shortDecoder) source(p phase, distance, from GPVirtual) {
	MOVQ(d.out, from)
	SUBQ(distance, from)
	TESTQ(distance, distance)
	JZ(LabelRef("wrong"))
	CMPQ(from, d.start)
	JB(LabelRef("wrong"))
	if p.first {
		d.inTailOrPage(from)
	}
}

// inTailOrPage turns a place in the tail into the same one of the page where it lies before the
// copy of the page's last bytes: then the bytes from there to the end of a match do too.
func (d *shortDecoder) inTailOrPage(from GPVirtual) {
	page, tail := GP64(), GP64()
	MOVQ(from, page)
	SUBQ(d.shift, page)
	LEAQ(d.tail, tail)
	CMPQ(from, tail)
	CMOVQCS(page, from)
}

// match copies a match. A distance of less than 16 makes it spread the bytes that repeat over each
// vector.
func (d *shortDecoder) match(p phase, length, distance GPVirtual) {
	from, row, spread := GP64(), distance, XMM()
	d.source(p, distance, from)
	CMPQ(distance, Imm(short))
	JB(LabelRef(p.name("Near")))
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
	Label(p.name("Near"))
	SHLQ(Imm(6), row)
	ADDQ(d.tables, row)
	VMOVDQU(behind(from, 0), spread)
	for i := 0; i < longest; i += short {
		x := XMM()
		VPSHUFB(behind(row, shuffleTable+i), spread, x)
		VMOVDQU(x, behind(d.out, i))
	}
	Label(p.name("Copied"))
	ADDQ(length, d.out)
}

// enterTail copies the page's last bytes to the tail and goes on in it.
func (d *shortDecoder) enterTail() {
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
func (d *shortDecoder) leaveTail() {
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
	CMPQ(d.literals, d.literalsEnd)
	JNE(LabelRef("wrong"))
	CMPQ(d.nears, d.fars)
	JNE(LabelRef("wrong"))
	d.answer(1)
	// Where no token was left for the tail, the page is full only if a run filled it.
	Label("pageDone")
	CMPQ(d.out, d.end)
	JEQ(LabelRef("used"))
	jump("wrong")
}

// run does a token that stands for a multiple of 16 bytes: literals for number 254, and for 255 a
// match at the last distance.
func (d *shortDecoder) run(p phase) {
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
	d.runLiterals(p, n)
	d.repeat(p, n)
}

// units makes a loop over n bytes of the page, 16 at once.
func (d *shortDecoder) units(p phase, label string, n GPVirtual, unit func()) {
	Label(p.name(label))
	unit()
	ADDQ(Imm(runUnit), d.out)
	SUBQ(Imm(runUnit), n)
	JNZ(LabelRef(p.name(label)))
	jump(p.name("Check"))
}

// runLiterals copies n literals.
func (d *shortDecoder) runLiterals(p phase, n GPVirtual) {
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
func (d *shortDecoder) repeat(p phase, n GPVirtual) {
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
