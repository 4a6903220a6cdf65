// SPDX-License-Identifier: Apache-2.0

// Command pagescan writes the assembly of package pagescan for amd64. The Go functions in
// samefilled_generic.go and scan_generic.go say what each routine computes.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The sample, as scan_generic.go draws it: one cache line of each lineStride bytes.
const (
	sampleStart = 128
	lineStride  = 512
	line        = 64
	lines       = 8
)

func main() {
	ConstraintExpr("!purego")
	repeatsAVX2()
	repeatsAVX512()
	countAVX2()
	Generate()
}

// countNames says what is counted, in the order of the result's fields.
var countNames = [4]string{"bytes of 0x80 and more", "zero bytes", "bytes equal to the byte 24 before", "bytes of words equal to the word 16 before"}

// countAVX2 keeps four vectors of byte counters, which two hits a turn cannot overflow. With ZMM
// registers, masks and either masked additions or population counts it was not faster (19 to 23 ns
// against 19 on Zen 5).
func countAVX2() {
	TEXT("countAVX2", NOSPLIT, "func(page []byte) uint64")
	Doc("countAVX2 works like countGeneric.")
	page := Load(Param("page").Base(), GP64())
	ADDQ(Imm(sampleStart), page)
	zero := YMM()
	VPXOR(zero, zero, zero)
	var sum [4]VecVirtual
	for i := range sum {
		sum[i] = YMM()
		VPXOR(sum[i], sum[i], sum[i])
	}
	left := GP64()
	MOVQ(U32(lines), left)
	Label("turn")
	for at := 0; at < line; at += 32 {
		v := YMM()
		VMOVDQU(Mem{Base: page, Disp: at}, v)
		for i, name := range countNames {
			Comment(name)
			hit := YMM()
			switch i {
			case 0:
				VPCMPGTB(v, zero, hit)
			case 1:
				VPCMPEQB(v, zero, hit)
			case 2:
				VPCMPEQB(Mem{Base: page, Disp: at - 24}, v, hit)
			case 3:
				VPCMPEQQ(Mem{Base: page, Disp: at - 16}, v, hit)
			}
			// A hit is -1.
			VPSUBB(hit, sum[i], sum[i])
		}
	}
	ADDQ(U32(lineStride), page)
	DECQ(left)
	JNZ(LabelRef("turn"))
	for i := range sum {
		VPSADBW(zero, sum[i], sum[i])
	}
	Comment("One 16-bit field for each count.")
	for i := 1; i < 4; i++ {
		VPSLLQ(Imm(uint64(16*i)), sum[i], sum[i])
	}
	VPOR(sum[0], sum[1], sum[1])
	VPOR(sum[2], sum[3], sum[3])
	VPOR(sum[1], sum[3], sum[3])
	fold(sum[3])
}

// fold returns the sum of the four 64-bit lanes.
func fold(y VecVirtual) {
	x := XMM()
	VEXTRACTI128(Imm(1), y, x)
	VPADDQ(y.AsX(), x, x)
	high := XMM()
	VPSRLDQ(Imm(8), x, high)
	VPADDQ(high, x, x)
	result := GP64()
	VMOVQ(x, result)
	VZEROUPPER()
	Store(result, ReturnIndex(0))
	RET()
}

// repeats writes the loop that both widths share: blocks of eight vectors, single vectors, and one
// more that ends where the page ends and may lie over bytes that were compared already. A page is a
// multiple of the word's length, so the word lies in step with each of them.
func repeats(width int, word VecVirtual, differs func(first Mem, vectors int)) {
	page := Load(Param("page").Base(), GP64())
	length := Load(Param("page").Len(), GP64())
	last := GP64()
	LEAQ(Mem{Base: page, Index: length, Scale: 1, Disp: -width}, last)
	block := GP64()
	LEAQ(Mem{Base: page, Index: length, Scale: 1, Disp: -8 * width}, block)
	Label("blocks")
	CMPQ(page, block)
	JHI(LabelRef("vectors"))
	differs(Mem{Base: page}, 8)
	ADDQ(U32(uint32(8*width)), page)
	JMP(LabelRef("blocks"))
	Label("vectors")
	CMPQ(page, last)
	JAE(LabelRef("end"))
	differs(Mem{Base: page}, 1)
	ADDQ(Imm(uint64(width)), page)
	JMP(LabelRef("vectors"))
	Label("end")
	differs(Mem{Base: last}, 1)
	VZEROUPPER()
	answer := GP8()
	MOVB(Imm(1), answer)
	Store(answer, ReturnIndex(0))
	RET()
	Label("differs")
	VZEROUPPER()
	answer = GP8()
	XORB(answer, answer)
	Store(answer, ReturnIndex(0))
	RET()
}

// repeatedWord loads the argument word.
func repeatedWord() Mem {
	word, err := Param("word").Resolve()
	if err != nil {
		panic(err) // the signature stands a few lines above
	}
	return word.Addr
}

func repeatsAVX2() {
	TEXT("repeatsAVX2", NOSPLIT, "func(page []byte, word uint64) bool")
	Doc("repeatsAVX2 works like repeatsGeneric, for pages of at least 32 bytes.")
	word := YMM()
	VPBROADCASTQ(repeatedWord(), word)
	repeats(32, word, func(first Mem, vectors int) {
		var diff [2]VecVirtual
		for i := range vectors {
			if i < len(diff) {
				diff[i] = YMM()
				VPXOR(first.Offset(32*i), word, diff[i])
				continue
			}
			next := YMM()
			VPXOR(first.Offset(32*i), word, next)
			VPOR(next, diff[i%2], diff[i%2])
		}
		if vectors > 1 {
			VPOR(diff[1], diff[0], diff[0])
		}
		VPTEST(diff[0], diff[0])
		JNZ(LabelRef("differs"))
	})
}

func repeatsAVX512() {
	TEXT("repeatsAVX512", NOSPLIT, "func(page []byte, word uint64) bool")
	Doc("repeatsAVX512 works like repeatsGeneric, for pages of at least 64 bytes.")
	word := ZMM()
	VPBROADCASTQ(repeatedWord(), word)
	repeats(64, word, func(first Mem, vectors int) {
		diff := [2]VecVirtual{}
		for i := range vectors {
			if i < len(diff) {
				diff[i] = ZMM()
				VPXORQ(first.Offset(64*i), word, diff[i])
				continue
			}
			// diff |= memory ^ word
			VPTERNLOGQ(Imm(0xf6), first.Offset(64*i), word, diff[i%2])
		}
		if vectors > 1 {
			VPORQ(diff[1], diff[0], diff[0])
		}
		different := K()
		VPTESTMQ(diff[0], diff[0], different)
		KORTESTW(different, different)
		JNZ(LabelRef("differs"))
	})
}
