// SPDX-License-Identifier: Apache-2.0

package sim

import "github.com/zramfs/zramfs/gpu/ptx"

// A predicate is one word, a bit a lane.

// compares give the lanes in which a comparison of two rows holds.
var compares = map[ptx.Opcode]func(a, b *row) uint32{
	ptx.OpSetpEqU32: equal,
	ptx.OpSetpNeU32: func(a, b *row) uint32 { return ^equal(a, b) },
	ptx.OpSetpLtU32: less,
	ptx.OpSetpGeU32: func(a, b *row) uint32 { return ^less(a, b) },
	ptx.OpSetpGtU32: func(a, b *row) uint32 { return less(b, a) },
	ptx.OpSetpLeU32: func(a, b *row) uint32 { return ^less(b, a) },
	ptx.OpSetpLtS32: lessSigned,
	ptx.OpSetpGtS32: func(a, b *row) uint32 { return lessSigned(b, a) },
}

func equal(a, b *row) uint32 {
	var m uint32
	for i := range a {
		if a[i] == b[i] {
			m |= 1 << i
		}
	}
	return m
}

func less(a, b *row) uint32 {
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
}
