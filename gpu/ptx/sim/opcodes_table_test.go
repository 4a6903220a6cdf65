// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"math/big"

	"github.com/zramfs/zramfs/gpu/ptx"
)

var opcodes32 = []opcode{
	{ptx.OpMovU32, func(o operands) any { return moved(o, o.x, o.y) }, func(v values) uint64 {
		return uint64(v.x)*truth(!v.q) + uint64(v.y)*truth(v.q)
	}},
	{ptx.OpAddU32, func(o operands) any { return o.x.Add(o.y) }, func(v values) uint64 {
		return cut(new(big.Int).Add(num(uint64(v.x)), num(uint64(v.y))), 32)
	}},
	{ptx.OpSubU32, func(o operands) any { return o.x.Sub(o.y) }, func(v values) uint64 {
		return cut(new(big.Int).Sub(num(uint64(v.x)), num(uint64(v.y))), 32)
	}},
	{ptx.OpMulLoU32, func(o operands) any { return o.x.Mul(o.y) }, func(v values) uint64 { return cut(product(v), 32) }},
	{ptx.OpMadLoU32, func(o operands) any { return o.x.Mad(o.y, o.z) }, func(v values) uint64 {
		return cut(new(big.Int).Add(product(v), num(uint64(v.z))), 32)
	}},
	{ptx.OpDivU32, func(o operands) any { return o.x.Div(o.y.Max(n(1))) }, func(v values) uint64 {
		return new(big.Int).Div(num(uint64(v.x)), num(uint64(max(v.y, 1)))).Uint64()
	}},
	{ptx.OpMinU32, func(o operands) any { return o.x.Min(o.y) }, func(v values) uint64 { return uint64(v.x - monus(v.x, v.y)) }},
	{ptx.OpMaxU32, func(o operands) any { return o.x.Max(o.y) }, func(v values) uint64 { return uint64(v.y + monus(v.x, v.y)) }},
	{ptx.OpAndB32, func(o operands) any { return o.x.And(o.y) }, func(v values) uint64 {
		return byBit(32, func(i int) uint64 { return bit(uint64(v.x), i) * bit(uint64(v.y), i) })
	}},
	{ptx.OpOrB32, func(o operands) any { return o.x.Or(o.y) }, func(v values) uint64 {
		return byBit(32, func(i int) uint64 { return max(bit(uint64(v.x), i), bit(uint64(v.y), i)) })
	}},
	{ptx.OpXorB32, func(o operands) any { return o.x.Xor(o.y) }, func(v values) uint64 {
		return byBit(32, func(i int) uint64 { return (bit(uint64(v.x), i) + bit(uint64(v.y), i)) % 2 })
	}},
	{ptx.OpShlB32, func(o operands) any { return o.x.Shl(o.y) }, func(v values) uint64 {
		return byBit(32, func(i int) uint64 { return bit(uint64(v.x), i-int(v.y)) })
	}},
	{ptx.OpShrU32, func(o operands) any { return o.x.Shr(o.y) }, func(v values) uint64 {
		return byBit(32, func(i int) uint64 { return bit(uint64(v.x), i+int(v.y)) })
	}},
	{ptx.OpShfRWrapB32, func(o operands) any { return o.x.FunnelR(o.y, o.z) }, func(v values) uint64 { return funnel(v.y, v.x, int(v.z%32)) }},
	{ptx.OpPopcB32, func(o operands) any { return o.x.Popc() }, func(v values) uint64 { return count(32, uint64(v.x)) }},
	{ptx.OpClzB32, func(o operands) any { return o.x.Clz() }, func(v values) uint64 { return uint64(31 - highest(32, uint64(v.x))) }},
	{ptx.OpBfindU32, func(o operands) any { return o.x.Bfind() }, func(v values) uint64 { return uint64(uint32(highest(32, uint64(v.x)))) }},
	{ptx.OpBrevB32, func(o operands) any { return o.x.Brev() }, func(v values) uint64 {
		return byBit(32, func(i int) uint64 { return bit(uint64(v.x), 31-i) })
	}},
	{ptx.OpPrmtB32, func(o operands) any { return o.x.Prmt(o.y, o.z) }, func(v values) uint64 { return prmt(v.x, v.y, v.z) }},
	{ptx.OpBfeU32, func(o operands) any { return o.x.Bfe(o.y, o.z) }, func(v values) uint64 {
		return byBit(min(32, int(v.z%256)), func(i int) uint64 { return bit(uint64(v.x), i+int(v.y%256)) })
	}},
}

// moved is y where q holds, and otherwise x, by a move under a guard.
func moved[T ptx.Value](o operands, x, y T) T {
	v := ptx.NewVar(o.b, x)
	o.b.When(o.q, func() { v.Set(y) })
	return v.Get()
}

func product(v values) *big.Int { return new(big.Int).Mul(num(uint64(v.x)), num(uint64(v.y))) }

func product64(v values) *big.Int { return new(big.Int).Mul(num(v.X), num(v.Y)) }

// monus is a - b, at least 0.
func monus[T uint32 | uint64](a, b T) T {
	if a > b {
		return a - b
	}
	return 0
}

var opcodes64 = []opcode{
	{ptx.OpPack, func(o operands) any { return o.x.Pack(o.y) }, func(v values) uint64 { return uint64(v.x) + uint64(v.y)*(1<<32) }},
	{ptx.OpUnpack, func(o operands) any { low, high := o.X.Unpack(); return low.Sub(high) }, func(v values) uint64 {
		return uint64(uint32(v.X%(1<<32)) - uint32(v.X/(1<<32)))
	}},
	{ptx.OpCvtU64U32, func(o operands) any { return o.x.Wide() }, func(v values) uint64 { return uint64(v.x) }},
	{ptx.OpCvtU32U64, func(o operands) any { return o.X.Low() }, func(v values) uint64 { return v.X % (1 << 32) }},
	{ptx.OpMovU64, func(o operands) any { return moved(o, o.X, o.Y) }, func(v values) uint64 {
		return v.X*truth(!v.q) + v.Y*truth(v.q)
	}},
	// The builder shows half of an address; of the other half lives every kernel.
	{ptx.OpMadWideU32, func(o operands) any { return o.in.AlignDown(1<<63).Add(o.X).Index(o.x, 0x89abcdef).Low() }, func(v values) uint64 {
		return cut(new(big.Int).Add(new(big.Int).Mul(num(uint64(v.x)), num(0x89abcdef)), num(v.X)), 32)
	}},
	{ptx.OpAddU64, func(o operands) any { return o.X.Add(o.Y) }, func(v values) uint64 { return cut(new(big.Int).Add(num(v.X), num(v.Y)), 64) }},
	{ptx.OpMulLoU64, func(o operands) any { return o.X.Mul(o.Y) }, func(v values) uint64 { return cut(product64(v), 64) }},
	{ptx.OpAndB64, func(o operands) any { return o.X.And(o.Y) }, func(v values) uint64 {
		return byBit(64, func(i int) uint64 { return bit(v.X, i) * bit(v.Y, i) })
	}},
	{ptx.OpOrB64, func(o operands) any { return o.X.Or(o.Y) }, func(v values) uint64 {
		return byBit(64, func(i int) uint64 { return max(bit(v.X, i), bit(v.Y, i)) })
	}},
	{ptx.OpXorB64, func(o operands) any { return o.X.Xor(o.Y) }, func(v values) uint64 {
		return byBit(64, func(i int) uint64 { return (bit(v.X, i) + bit(v.Y, i)) % 2 })
	}},
	{ptx.OpShlB64, func(o operands) any { return o.X.Shl(o.y) }, func(v values) uint64 {
		return byBit(64, func(i int) uint64 { return bit(v.X, i-int(v.y)) })
	}},
	{ptx.OpShrU64, func(o operands) any { return o.X.Shr(o.y) }, func(v values) uint64 {
		return byBit(64, func(i int) uint64 { return bit(v.X, i+int(v.y)) })
	}},
}

// signed is x as a number with a sign.
func signed(x uint32) int64 { return int64(x) - int64(x>>31)<<32 }

var comparisons = []opcode{
	{ptx.OpSetpEqU32, func(o operands) any { return o.x.Eq(o.y) }, func(v values) uint64 { return truth(v.x == v.y) }},
	{ptx.OpSetpNeU32, func(o operands) any { return o.x.Ne(o.y) }, func(v values) uint64 { return truth(v.x != v.y) }},
	{ptx.OpSetpLtU32, func(o operands) any { return o.x.Lt(o.y) }, func(v values) uint64 { return truth(v.x < v.y) }},
	{ptx.OpSetpLeU32, func(o operands) any { return o.x.Le(o.y) }, func(v values) uint64 { return truth(v.x <= v.y) }},
	{ptx.OpSetpGtU32, func(o operands) any { return o.x.Gt(o.y) }, func(v values) uint64 { return truth(v.x > v.y) }},
	{ptx.OpSetpGeU32, func(o operands) any { return o.x.Ge(o.y) }, func(v values) uint64 { return truth(v.x >= v.y) }},
	{ptx.OpSetpLtS32, func(o operands) any { return o.x.LtS(o.y) }, func(v values) uint64 { return truth(signed(v.x) < signed(v.y)) }},
	{ptx.OpSetpGtS32, func(o operands) any { return o.x.GtS(o.y) }, func(v values) uint64 { return truth(signed(v.x) > signed(v.y)) }},
	{ptx.OpMovPred, func(o operands) any { return moved(o, o.p, o.x.Eq(o.y)) }, func(v values) uint64 {
		return truth(v.q && v.x == v.y || !v.q && v.p)
	}},
	{ptx.OpSelpU32, func(o operands) any { return ptx.Select(o.p, o.x, o.y) }, func(v values) uint64 {
		return uint64(v.x)*truth(v.p) + uint64(v.y)*truth(!v.p)
	}},
	{ptx.OpSelpU64, func(o operands) any { return ptx.Select(o.p, o.X, o.Y) }, func(v values) uint64 {
		return v.X*truth(v.p) + v.Y*truth(!v.p)
	}},
	{ptx.OpAndPred, func(o operands) any { return o.p.And(o.q) }, func(v values) uint64 { return truth(v.p && v.q) }},
	{ptx.OpOrPred, func(o operands) any { return o.p.Or(o.q) }, func(v values) uint64 { return truth(v.p || v.q) }},
	{ptx.OpNotPred, func(o operands) any { return o.p.Not().And(o.q) }, func(v values) uint64 { return truth(!v.p && v.q) }},
}
