// SPDX-License-Identifier: Apache-2.0

package ptx

func u32(op Opcode, src ...value) U32   { return wrap[U32](compute(op, src...)) }
func u64(op Opcode, src ...value) U64   { return wrap[U64](compute(op, src...)) }
func pred(op Opcode, src ...value) Pred { return wrap[Pred](compute(op, src...)) }

// Add is x + y.
func (x U32) Add(y U32) U32 { return u32(OpAddU32, x.value, y.value) }

// Sub is x - y.
func (x U32) Sub(y U32) U32 { return u32(OpSubU32, x.value, y.value) }

// Mul is the lower half of x * y.
func (x U32) Mul(y U32) U32 { return u32(OpMulLoU32, x.value, y.value) }

// Mad is x * y + z.
func (x U32) Mad(y, z U32) U32 { return u32(OpMadLoU32, x.value, y.value, z.value) }

// Div is x / y; it takes dozens of instructions.
func (x U32) Div(y U32) U32 { return u32(OpDivU32, x.value, y.value) }

// Min is the smaller, as unsigned numbers.
func (x U32) Min(y U32) U32 { return u32(OpMinU32, x.value, y.value) }

// Max is the larger, as unsigned numbers.
func (x U32) Max(y U32) U32 { return u32(OpMaxU32, x.value, y.value) }

// And is x & y.
func (x U32) And(y U32) U32 { return u32(OpAndB32, x.value, y.value) }

// Or is x | y.
func (x U32) Or(y U32) U32 { return u32(OpOrB32, x.value, y.value) }

// Xor is x ^ y.
func (x U32) Xor(y U32) U32 { return u32(OpXorB32, x.value, y.value) }

// Shl is x << n, 0 for n above 31.
func (x U32) Shl(n U32) U32 { return u32(OpShlB32, x.value, n.value) }

// Shr is x >> n, 0 for n above 31.
func (x U32) Shr(n U32) U32 { return u32(OpShrU32, x.value, n.value) }

// FunnelR is the lower half of high:low >> (n & 31), where x is low. With n = 8 * (address & 3) it
// takes the word at any address out of the two aligned words that hold it.
func (x U32) FunnelR(high, n U32) U32 { return u32(OpShfRWrapB32, x.value, high.value, n.value) }

// Popc counts the bits that are set.
func (x U32) Popc() U32 { return u32(OpPopcB32, x.value) }

// Clz counts the zeros above the highest bit that is set.
func (x U32) Clz() U32 { return u32(OpClzB32, x.value) }

// Bfind is the number of the highest bit that is set, 0xffffffff if none is.
func (x U32) Bfind() U32 { return u32(OpBfindU32, x.value) }

// Brev turns the order of the bits round.
func (x U32) Brev() U32 { return u32(OpBrevB32, x.value) }

// Ctz counts the zeros below the lowest bit that is set; 32 for 0.
func (x U32) Ctz() U32 { return x.Brev().Clz() }

// Prmt picks four of the eight bytes of y:x by the nibbles of the selector.
func (x U32) Prmt(y, selector U32) U32 {
	return u32(OpPrmtB32, x.value, y.value, selector.value)
}

// Bfe is the field of count bits from bit start on.
func (x U32) Bfe(start, count U32) U32 { return u32(OpBfeU32, x.value, start.value, count.value) }

// Wide is x with 32 zero bits above.
func (x U32) Wide() U64 { return u64(OpCvtU64U32, x.value) }

// Pack is the 64 bits with x as their lower half.
func (x U32) Pack(high U32) U64 { return u64(OpPack, x.value, high.value) }

// Add is x + y.
func (x U64) Add(y U64) U64 { return u64(OpAddU64, x.value, y.value) }

// Mul is the lower half of x * y.
func (x U64) Mul(y U64) U64 { return u64(OpMulLoU64, x.value, y.value) }

// And is x & y.
func (x U64) And(y U64) U64 { return u64(OpAndB64, x.value, y.value) }

// Or is x | y.
func (x U64) Or(y U64) U64 { return u64(OpOrB64, x.value, y.value) }

// Xor is x ^ y.
func (x U64) Xor(y U64) U64 { return u64(OpXorB64, x.value, y.value) }

// Shl is x << n, 0 for n above 63.
func (x U64) Shl(n U32) U64 { return u64(OpShlB64, x.value, n.value) }

// Shr is x >> n, 0 for n above 63.
func (x U64) Shr(n U32) U64 { return u64(OpShrU64, x.value, n.value) }

// Low is the lower half.
func (x U64) Low() U32 { return u32(OpCvtU32U64, x.value) }

// Unpack is both halves.
func (x U64) Unpack() (low, high U32) {
	b := builderOf(x.value)
	switch {
	case x.operand.Kind != OperandImmediate && b == nil:
		return wrap[U32](x.value), wrap[U32](x.value)
	case b == nil:
		n := x.operand.Value
		return N(uint32(n)), N(uint32(n >> 32))
	}
	operands, u := b.operands([]value{x.value})
	in := b.append(OpUnpack, Guard{Register: NoRegister}, operands...)
	halves := b.results(in, u)
	return wrap[U32](halves[0]), wrap[U32](halves[1])
}

// results makes registers for all results of an instruction.
func (b *Builder) results(in *Instruction, u Uniformity) []value {
	var all []value
	for i, t := range in.Op.Signature().Dst {
		in.Dst[i] = b.register(t, u, false)
		all = append(all, b.made(in.Dst[i], u))
	}
	return all
}
