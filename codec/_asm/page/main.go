// SPDX-License-Identifier: Apache-2.0

// Command page writes the assembly of package page for amd64. The Go functions in parse_generic.go
// and decode_generic.go of that package say what each routine computes; this says how it is done
// quickly.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	decode()
	decodeCluster()
	parse()
	parseDense()
	readSegment("readSegmentAVX2", false)
	readSegment("readTokensAVX2", true)
	writeSegment()
	Generate()
}

// Package page uses the same names.
const (
	size       = 4096
	hashFactor = 0x9E3779B185EBCA87 << 24 & (1<<64 - 1)
	hashShift  = 64 - 12
	tableStep  = 2
	reach      = 61
	lastStart  = size - 2
	margin     = 64
	firstReps  = 1 | 8<<16 | 4<<32 | 16<<48
	nearDense  = 64
	runUnit    = 16

	planLiterals = 16
	planLength   = 64
	minLength    = 2
)

// at is the memory disp bytes behind the sum of two registers, the second multiplied.
func at(base, index Register, scale uint8, disp int) Mem {
	return Mem{Base: base, Index: index, Scale: scale, Disp: disp}
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

// align makes the next instruction begin a line of the cache, as the beginnings of what is done
// most often should.
func align() {
	Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []Op{Imm(64)}})
}
