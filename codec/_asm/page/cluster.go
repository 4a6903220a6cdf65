// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Where the references of distances of less than a vector lie in package page's
// clusterVectors, behind what other decoders have as well.
const referenceTable = shuffleTable + 64*17

// A clusterDecoder decodes as a decoder does, but adds to literals what lies before them.
// There is room behind the text for all that is written too much, and so no tail.
type clusterDecoder struct {
	decoder
	reference GPVirtual  // how far before literals that lies
	mask      VecVirtual // which bits of it count
}

func decodeCluster() {
	TEXT("decodeClusterTokensAVX2", NOSPLIT, "func(dst, literals, distances, tokens []byte, tables *byte, mask uint64) bool")
	var d clusterDecoder
	p := phase{label: "cluster"}
	d.begin()
	d.loop(p)
	d.leave(p)
	d.run(p)
	Label("wrong")
	d.answer(0)
}

func (d *clusterDecoder) begin() {
	registers(&d.next, &d.literals, &d.nears, &d.fars, &d.out, &d.tables, &d.reference)
	for _, place := range []*Mem{&d.tokensEnd, &d.literalsEnd, &d.end, &d.start} {
		*place = AllocLocal(8)
	}
	n := GP64()
	d.bounds(n)
	Load(Param("distances").Base(), d.nears)
	Load(Param("distances").Len(), d.fars)
	ADDQ(d.nears, d.fars)
	d.recent, d.distanceBits, d.mask = XMM(), XMM(), XMM()
	Load(Param("mask"), n)
	VMOVQ(n, d.mask)
	VPUNPCKLQDQ(d.mask, d.mask, d.mask)
	Load(Param("tables"), d.tables)
	MOVQ(U64(firstReps), n)
	VMOVQ(n, d.recent)
	VPCMPEQD(d.distanceBits, d.distanceBits, d.distanceBits)
	MOVL(U32(runUnit), d.reference.As32()) // the first distance's
}

// loop does all tokens.
func (d *clusterDecoder) loop(p phase) {
	jump(p.name("Check"))
	align()
	Label(p.name("Token"))
	token, literals, length, kind, distance := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVBQZX(behind(d.next, 0), token)
	INCQ(d.next)
	CMPL(token.As32(), U32(firstRun))
	JAE(LabelRef(p.name("Run")))
	d.entry(token, literals, length, kind)
	d.add()
	d.recall(kind, distance, length)
	ADDQ(literals, d.literals)
	CMPQ(d.literals, d.literalsEnd)
	JA(LabelRef("wrong"))
	ADDQ(literals, d.out)
	d.match(p, length, distance)
	Label(p.name("Check"))
	CMPQ(d.next, d.tokensEnd)
	JAE(LabelRef(p.name("Done")))
	CMPQ(d.out, d.end)
	JBE(LabelRef(p.name("Token")))
	jump("wrong")
}

// add writes 16 literals.
func (d *clusterDecoder) add() {
	from, x, y := GP64(), XMM(), XMM()
	MOVQ(d.out, from)
	SUBQ(d.reference, from)
	VPAND(behind(from, 0), d.mask, y)
	VPADDB(behind(d.literals, 0), y, x)
	VMOVDQU(x, behind(d.out, 0))
}

// match copies a match as a decoder does, and finds the next literals' reference.
func (d *clusterDecoder) match(p phase, length, distance GPVirtual) {
	from, row, spread := GP64(), GP64(), XMM()
	d.source(p, distance, from)
	MOVQ(distance, d.reference)
	CMPQ(distance, Imm(short))
	JB(LabelRef(p.name("Near")))
	d.copy(p, from, length)
	Label(p.name("Near"))
	MOVBQZX(at(d.tables, distance, 1, referenceTable), d.reference)
	MOVQ(distance, row)
	d.spread(from, row, spread)
	Label(p.name("Copied"))
	ADDQ(length, d.out)
}

// runLiterals writes n literals.
func (d *clusterDecoder) runLiterals(p phase, n GPVirtual) {
	t := GP64()
	MOVQ(d.literalsEnd, t)
	SUBQ(d.literals, t)
	CMPQ(n, t)
	JA(LabelRef("wrong"))
	d.units(p, "Literals", n, func() {
		d.add()
		ADDQ(Imm(runUnit), d.literals)
	})
}

// run does a run's token, as a decoder does.
func (d *clusterDecoder) run(p phase) {
	n := d.runLength(p)
	d.runLiterals(p, n)
	d.repeat(p, n)
}

// leave checks that every byte was used and the text is whole.
func (d *clusterDecoder) leave(p phase) {
	Label(p.name("Done"))
	CMPQ(d.out, d.end)
	JNE(LabelRef("wrong"))
	d.used()
	d.answer(1)
}
