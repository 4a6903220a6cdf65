// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The longest match that is copied with no question but whether it lies at least eight bytes back.
// A token can say up to 18, but few matches are that long, and two more bytes would be one more
// copy for all of them.
const shortMatch = 16

// The bytes that a step of the main loop touches beyond the place where it begins, and a step of
// the loop near the end, which copies eight literals instead of sixteen.
const (
	readMargin  = 18 // a token, sixteen bytes (fourteen literals), then a distance and a byte of length
	writeMargin = 32 // fourteen literals and a match of sixteen; a long match writes as much too much
	readTail    = 12
	writeTail   = 24
)

// A decoder holds the registers that the parts of the routine share.
type decoder struct {
	ip, op                GPVirtual // where to read and to write
	ipWas, opWas          GPVirtual // the same at the beginning of the sequence
	readLimit, writeLimit GPVirtual // the last places at which a sequence can begin
	dst                   GPVirtual
	shuffles              GPVirtual
	token                 GPVirtual // of the sequence at hand, and then of the next
	literals              GPVirtual
	length                GPVirtual // of the match, less minMatch
	distance, from        GPVirtual
	x                     VecVirtual
	src, end              Mem // the beginning of the object and its end
}

// shuffleTable makes, for each distance below 16, the shuffle that repeats that number of bytes
// over a vector, and behind the shuffles how many bytes of the vector are whole repetitions.
func shuffleTable() Mem {
	m := GLOBL("shuffles", RODATA|NOPTR)
	for distance := 1; distance < 16; distance++ {
		for i := range 16 {
			DATA(16*distance+i, U8(uint8(i%distance)))
		}
	}
	for distance := 1; distance < 16; distance++ {
		DATA(wholeBytes+distance, U8(uint8(16-16%distance)))
	}
	return m
}

const wholeBytes = 256

func decodeBlock() {
	m := shuffleTable()
	TEXT("decodeBlockAVX2", NOSPLIT, "func(dst, src []byte) (written, read int)")
	var d decoder
	d.begin(m)
	jump("reload")
	d.sequence()
	d.near("near", "sequence")
	d.long()
	d.farCopy()
	d.nearCopy()
	d.manyLiterals()
	d.tail()
	Label("leave")
	SUBQ(d.dst, d.opWas)
	SUBQ(d.src, d.ipWas)
	Store(d.opWas, ReturnIndex(0))
	Store(d.ipWas, ReturnIndex(1))
	RET()
}

func (d *decoder) begin(m Mem) {
	registers(&d.ip, &d.op, &d.ipWas, &d.opWas, &d.readLimit, &d.writeLimit, &d.dst, &d.shuffles, &d.token, &d.literals, &d.length,
		&d.distance, &d.from)
	d.x = XMM()
	d.src, d.end = AllocLocal(8), AllocLocal(8)
	Load(Param("src").Base(), d.ip)
	MOVQ(d.ip, d.src)
	Load(Param("src").Len(), d.readLimit)
	ADDQ(d.ip, d.readLimit)
	MOVQ(d.readLimit, d.end)
	SUBQ(Imm(readMargin), d.readLimit)
	Load(Param("dst").Base(), d.op)
	MOVQ(d.op, d.dst)
	Load(Param("dst").Len(), d.writeLimit)
	LEAQ(at(d.op, d.writeLimit, -writeMargin), d.writeLimit)
	LEAQ(m, d.shuffles)
}

// sequence decodes one after another.
func (d *decoder) sequence() {
	align()
	Label("sequence")
	CMPQ(d.ip, d.readLimit)
	JA(LabelRef("tail"))
	Label("loaded")
	MOVQ(d.ip, d.ipWas)
	MOVQ(d.op, d.opWas)
	CMPQ(d.op, d.writeLimit)
	JA(LabelRef("tail"))
	MOVOU(behind(d.ip, 1), d.x)
	MOVL(d.token.As32(), d.literals.As32())
	SHRL(Imm(4), d.literals.As32())
	CMPL(d.token.As32(), U32(escape<<4))
	JAE(LabelRef("manyLiterals"))
	MOVOU(d.x, behind(d.op, 0))
	MOVWLZX(at(d.ip, d.literals, 1), d.distance.As32())
	MOVL(d.token.As32(), d.length.As32())
	Comment("The next sequence waits for its token and nothing else, unless this one has bytes of length.")
	MOVBLZX(at(d.ip, d.literals, 3), d.token.As32())
	LEAQ(at(d.ip, d.literals, 3), d.ip)
	ADDQ(d.literals, d.op)
	Label("match")
	d.match("long", "near", "sequence")
}

// match copies a match and jumps to next. Matches that are long, near, or before the beginning of
// dst are for others.
func (d *decoder) match(long, near, next string) {
	v, w := GP64(), GP64()
	ANDL(Imm(15), d.length.As32())
	MOVQ(d.op, d.from)
	SUBQ(d.distance, d.from)
	CMPQ(d.from, d.dst)
	JB(LabelRef("leave"))
	CMPL(d.length.As32(), Imm(shortMatch-minMatch))
	JA(LabelRef(long))
	CMPL(d.distance.As32(), Imm(8))
	JB(LabelRef(near))
	MOVQ(behind(d.from, 0), v)
	MOVQ(v, behind(d.op, 0))
	MOVQ(behind(d.from, 8), w)
	MOVQ(w, behind(d.op, 8))
	LEAQ(at(d.op, d.length, minMatch), d.op)
	jump(next)
}

// near copies a short match that overlaps itself within eight bytes: a shuffle repeats them.
func (d *decoder) near(label, next string) {
	align()
	Label(label)
	TESTL(d.distance.As32(), d.distance.As32())
	JZ(LabelRef("leave"))
	MOVQ(behind(d.from, 0), d.x)
	d.shuffle()
	MOVOU(d.x, behind(d.op, 0))
	LEAQ(at(d.op, d.length, minMatch), d.op)
	jump(next)
}

func (d *decoder) shuffle() {
	SHLL(Imm(4), d.distance.As32())
	PSHUFB(Mem{Base: d.shuffles, Index: d.distance, Scale: 1}, d.x)
}

// long copies a match that does not fit in shortMatch.
func (d *decoder) long() {
	b := GP64()
	align()
	Label("long")
	CMPL(d.length.As32(), Imm(escape))
	JNE(LabelRef("measured"))
	Label("lengthByte")
	CMPQ(d.ip, d.end)
	JAE(LabelRef("leave"))
	MOVBLZX(behind(d.ip, 0), b.As32())
	INCQ(d.ip)
	ADDQ(b, d.length)
	CMPL(b.As32(), U32(moreLength))
	JE(LabelRef("lengthByte"))
	Label("measured")
	Comment("length becomes the end of the match.")
	LEAQ(at(d.op, d.length, minMatch), d.length)
	CMPQ(d.length, d.writeLimit)
	JA(LabelRef("leave"))
	CMPL(d.distance.As32(), Imm(16))
	JB(LabelRef("nearCopy"))
}

// farCopy copies a long match that lies 16 bytes back at least, and writes up to 31 bytes too much.
func (d *decoder) farCopy() {
	Label("farCopy")
	MOVOU(behind(d.from, 0), d.x)
	MOVOU(d.x, behind(d.op, 0))
	MOVOU(behind(d.from, 16), d.x)
	MOVOU(d.x, behind(d.op, 16))
	ADDQ(Imm(32), d.from)
	ADDQ(Imm(32), d.op)
	CMPQ(d.op, d.length)
	JB(LabelRef("farCopy"))
	Label("copied")
	MOVQ(d.length, d.op)
	Label("reload")
	CMPQ(d.ip, d.readLimit)
	JA(LabelRef("tail"))
	MOVBLZX(behind(d.ip, 0), d.token.As32())
	jump("loaded")
}

// nearCopy copies a long match that lies less than 16 bytes back: it reads once what the match
// repeats. It writes up to 31 bytes too much.
func (d *decoder) nearCopy() {
	whole := GP64()
	align()
	Label("nearCopy")
	TESTL(d.distance.As32(), d.distance.As32())
	JZ(LabelRef("leave"))
	MOVOU(behind(d.from, 0), d.x)
	MOVBLZX(Mem{Base: d.shuffles, Index: d.distance, Scale: 1, Disp: wholeBytes}, whole.As32())
	d.shuffle()
	Label("again")
	MOVOU(d.x, behind(d.op, 0))
	MOVOU(d.x, at(d.op, whole, 0))
	LEAQ(Mem{Base: d.op, Index: whole, Scale: 2}, d.op)
	CMPQ(d.op, d.length)
	JB(LabelRef("again"))
	jump("copied")
}

// manyLiterals copies 15 literals or more by 32 bytes, where there is so much space behind them in
// both buffers.
func (d *decoder) manyLiterals() {
	b, end, from := GP64(), GP64(), GP64()
	y := XMM()
	Label("manyLiterals")
	INCQ(d.ip)
	Label("literalByte")
	CMPQ(d.ip, d.end)
	JAE(LabelRef("leave"))
	MOVBLZX(behind(d.ip, 0), b.As32())
	INCQ(d.ip)
	ADDQ(b, d.literals)
	CMPL(b.As32(), U32(moreLength))
	JE(LabelRef("literalByte"))
	LEAQ(at(d.ip, d.literals, 32-readMargin), end)
	CMPQ(end, d.readLimit)
	JA(LabelRef("leave"))
	LEAQ(at(d.op, d.literals, 0), end)
	CMPQ(end, d.writeLimit)
	JA(LabelRef("leave"))
	MOVQ(d.ip, from)
	Label("literalCopy")
	MOVOU(behind(from, 0), d.x)
	MOVOU(behind(from, 16), y)
	MOVOU(d.x, behind(d.op, 0))
	MOVOU(y, behind(d.op, 16))
	ADDQ(Imm(32), from)
	ADDQ(Imm(32), d.op)
	CMPQ(d.op, end)
	JB(LabelRef("literalCopy"))
	MOVQ(end, d.op)
	ADDQ(d.literals, d.ip)
	MOVWLZX(behind(d.ip, 0), d.distance.As32())
	MOVBLZX(behind(d.ip, 2), b.As32())
	ADDQ(Imm(2), d.ip)
	MOVL(d.token.As32(), d.length.As32())
	MOVL(b.As32(), d.token.As32())
	jump("match")
}

// tail decodes sequences near the end of a buffer, with narrower copies. The caller does those
// that are not short.
func (d *decoder) tail() {
	bytes := GP64()
	Label("tail")
	ADDQ(Imm(readMargin-readTail), d.readLimit)
	ADDQ(Imm(writeMargin-writeTail), d.writeLimit)
	Label("next")
	MOVQ(d.ip, d.ipWas)
	MOVQ(d.op, d.opWas)
	CMPQ(d.ip, d.readLimit)
	JA(LabelRef("leave"))
	CMPQ(d.op, d.writeLimit)
	JA(LabelRef("leave"))
	MOVBLZX(behind(d.ip, 0), d.length.As32())
	MOVL(d.length.As32(), d.literals.As32())
	SHRL(Imm(4), d.literals.As32())
	CMPL(d.literals.As32(), Imm(8))
	JA(LabelRef("leave"))
	MOVQ(behind(d.ip, 1), bytes)
	MOVQ(bytes, behind(d.op, 0))
	MOVWLZX(at(d.ip, d.literals, 1), d.distance.As32())
	LEAQ(at(d.ip, d.literals, 3), d.ip)
	ADDQ(d.literals, d.op)
	d.match("leave", "nearTail", "next")
	d.near("nearTail", "next")
}
