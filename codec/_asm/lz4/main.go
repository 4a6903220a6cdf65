// SPDX-License-Identifier: Apache-2.0

// Command lz4 writes the assembly of package lz4 for amd64. The Go functions in encode_generic.go,
// fast_generic.go and decode_generic.go of that package say what each routine computes; this says
// how it is done quickly.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	encodeBlock()
	encodeFastBlock()
	decodeBlock()
	Generate()
}

// cacheLine is the size of a line of the cache.
const cacheLine = 64

// align makes the next instruction begin a line of the cache, as the beginnings of what is done
// most often should.
func align() {
	Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []Op{Imm(cacheLine)}})
}

// at is the memory disp bytes behind the sum of two registers.
func at(base, index Register, disp int) Mem {
	return Mem{Base: base, Index: index, Scale: 1, Disp: disp}
}

// behind is the memory disp bytes behind a register.
func behind(base Register, disp int) Mem { return Mem{Base: base, Disp: disp} }

// registers makes the registers that the fields point to.
func registers(fields ...*GPVirtual) {
	for _, field := range fields {
		*field = GP64()
	}
}

// jump ends a path.
func jump(label string) { JMP(LabelRef(label)) }
