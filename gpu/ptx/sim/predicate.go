// SPDX-License-Identifier: Apache-2.0

package sim

import "github.com/zramfs/zramfs/gpu/ptx"

// A predicate is one word, a bit a lane.

// compares32 give the lanes in which a comparison of two rows holds.
var compares32 = map[ptx.Opcode]func(a, b *row) uint32{
	ptx.OpSetpEqU32: equal[uint32],
	ptx.OpSetpNeU32: func(a, b *row) uint32 { return ^equal(a, b) },
	ptx.OpSetpLtU32: less[uint32],
	ptx.OpSetpGeU32: func(a, b *row) uint32 { return ^less(a, b) },
	ptx.OpSetpGtU32: func(a, b *row) uint32 { return less(b, a) },
	ptx.OpSetpLeU32: func(a, b *row) uint32 { return ^less(b, a) },
	ptx.OpSetpLtS32: lessSigned,
	ptx.OpSetpGeS32: func(a, b *row) uint32 { return ^lessSigned(a, b) },
	ptx.OpSetpGtS32: func(a, b *row) uint32 { return lessSigned(b, a) },
	ptx.OpSetpLeS32: func(a, b *row) uint32 { return ^lessSigned(b, a) },
}

var compares64 = map[ptx.Opcode]func(a, b *wide) uint32{
	ptx.OpSetpEqU64: equal[uint64],
	ptx.OpSetpNeU64: func(a, b *wide) uint32 { return ^equal(a, b) },
	ptx.OpSetpLtU64: less[uint64],
	ptx.OpSetpGeU64: func(a, b *wide) uint32 { return ^less(a, b) },
	ptx.OpSetpGtU64: func(a, b *wide) uint32 { return less(b, a) },
	ptx.OpSetpLeU64: func(a, b *wide) uint32 { return ^less(b, a) },
}

func equal[T uint32 | uint64](a, b *[WarpSize]T) uint32 {
	var m uint32
	for i := range a {
		if a[i] == b[i] {
			m |= 1 << i
		}
	}
	return m
}

func less[T uint32 | uint64](a, b *[WarpSize]T) uint32 {
	var m uint32
	for i := range a {
		if a[i] < b[i] {
			m |= 1 << i
		}
	}
	return m
}

func lessSigned(a, b *row) uint32 {
	var m uint32
	for i := range a {
		if int32(a[i]) < int32(b[i]) {
			m |= 1 << i
		}
	}
	return m
}

// predFuncs combine predicates.
var predFuncs = map[ptx.Opcode]func(a, b uint32) uint32{
	ptx.OpMovPred: func(a, _ uint32) uint32 { return a },
	ptx.OpNotPred: func(a, _ uint32) uint32 { return ^a },
	ptx.OpAndPred: func(a, b uint32) uint32 { return a & b },
	ptx.OpOrPred:  func(a, b uint32) uint32 { return a | b },
	ptx.OpXorPred: func(a, b uint32) uint32 { return a ^ b },
}
