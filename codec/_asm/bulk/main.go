// SPDX-License-Identifier: Apache-2.0

// Command bulk writes the assembly of package bulk for amd64. The Go function in hash_generic.go
// says what the routine computes.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The numbers of the hash, as hash.go has them.
const (
	rowBytes = 512
	vectors  = 8 // of four lanes
	seed     = 0x9e3779b97f4a7c15
	factor   = 0x61c8864680b583eb
)

// ahead is how far in front of the loads memory is fetched. The processor does that by itself, but
// not before it has seen some loads of a page: so scattered pages take a fifth less time on Zen 5,
// neighbours 6 % more.
const ahead = 3 * rowBytes

func main() {
	ConstraintExpr("!purego")
	TEXT("sumAVX2", NOSPLIT, "func(rows []byte, last *[512]byte) uint64")
	Doc("sumAVX2 works like sumGeneric.")
	rows, left, last := Load(Param("rows").Base(), GP64()), Load(Param("rows").Len(), GP64()), Load(Param("last"), GP64())
	low, high := constant(factor&(1<<32-1)), constant(factor>>32)
	h := seeds()
	Label("turn")
	SUBQ(U32(rowBytes), left)
	JB(LabelRef("last"))
	for i := range h {
		row(Mem{Base: rows, Disp: 64 * i}, h[i], low, high)
	}
	ADDQ(U32(rowBytes), rows)
	JMP(LabelRef("turn"))
	Label("last")
	TESTQ(last, last)
	JZ(LabelRef("end"))
	MOVQ(last, rows)
	XORQ(last, last)
	MOVQ(U32(rowBytes), left)
	JMP(LabelRef("turn"))
	Label("end")
	for i := range h {
		multiply(h[i], low, high)
		multiply(h[i], low, high)
	}
	for n := vectors / 2; n > 0; n /= 2 {
		for i := range n {
			VPADDQ(h[i+n], h[i], h[i])
		}
	}
	fold(h[0])
	Generate()
}

// constant returns a vector of one word.
func constant(word uint64) VecVirtual {
	value, v := GP64(), YMM()
	MOVQ(U64(word), value)
	VMOVQ(value, v.AsX())
	VPBROADCASTQ(v.AsX(), v)
	return v
}

// seeds returns the lanes' first hashes. Each vector has its second and third lane exchanged, as
// the words have that are unpacked from two vectors of two lanes each.
func seeds() (h [vectors]VecVirtual) {
	first := GLOBL("seeds", RODATA|NOPTR)
	for i, lane := range []uint64{1, 3, 2, 4} {
		DATA(8*i, U64(lane*seed))
	}
	step := constant(4 * seed % (1 << 64))
	for i := range h {
		h[i] = YMM()
		if i == 0 {
			VMOVDQU(first, h[i])
		} else {
			VPADDQ(step, h[i-1], h[i])
		}
	}
	return h
}

// row adds the 64 bytes of four lanes.
func row(from Mem, h, low, high VecVirtual) {
	two, words := YMM(), YMM()
	PREFETCHT0(from.Offset(ahead))
	VMOVDQU(from, two)
	VPUNPCKLQDQ(from.Offset(32), two, words)
	VPXOR(words, h, h)
	multiply(h, low, high)
	VPUNPCKHQDQ(from.Offset(32), two, words)
	VPXOR(words, h, h)
	multiply(h, low, high)
}

// multiply multiplies each lane by the factor, from products of 32 bits, and mixes its halves.
func multiply(h, low, high VecVirtual) {
	product, cross := YMM(), YMM()
	VPSRLQ(Imm(32), h, cross)
	VPMULUDQ(low, h, product)
	VPMULUDQ(low, cross, cross)
	VPMULUDQ(high, h, h)
	VPADDQ(h, cross, cross)
	VPSLLQ(Imm(32), cross, cross)
	VPADDQ(cross, product, product)
	VPSRLQ(Imm(32), product, h)
	VPXOR(product, h, h)
}

// fold returns the sum of the four lanes.
func fold(y VecVirtual) {
	x, high, result := XMM(), XMM(), GP64()
	VEXTRACTI128(Imm(1), y, x)
	VPADDQ(y.AsX(), x, x)
	VPSRLDQ(Imm(8), x, high)
	VPADDQ(high, x, x)
	VMOVQ(x, result)
	VZEROUPPER()
	Store(result, ReturnIndex(0))
	RET()
}
