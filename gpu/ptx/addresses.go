// SPDX-License-Identifier: Apache-2.0

package ptx

import "fmt"

// withoutOffset computes an address whose constant offset has not been added yet.
func (b *Builder) withoutOffset(v value) value {
	if v.operand.Offset == 0 {
		return v
	}
	offset := v.operand.Offset
	v.operand.Offset = 0
	if b.use(v); v.b != b {
		return v
	}
	if b.kernel.typeOf(v.operand.Register) == TypeShared32 {
		return b.computeAs(OpAddU32, TypeShared32, v, constant(uint64(uint32(offset))))
	}
	return b.computeAs(OpAddU64, TypeGlobal64, v, constant(uint64(int64(offset))))
}

func (v value) at(n int) value {
	offset := int(v.operand.Offset) + n
	v.operand.Offset = int32(offset)
	if int(v.operand.Offset) != offset && v.bad == "" {
		v.bad = fmt.Sprintf("an offset of %d bytes, which has more than 32 bits: use Add", offset)
	}
	return v
}

// At is the address n bytes on; it costs no instruction.
func (a Shared32) At(n int) Shared32 { return wrap[Shared32](a.at(n)) }

// Add is the address n bytes on.
func (a Shared32) Add(n U32) Shared32 {
	return wrap[Shared32](onward(OpAddU32, TypeShared32, a.value, n.value))
}

// Minus is the distance in bytes from start to a, which must be in the same array.
func (a Shared32) Minus(start Shared32) U32 {
	b := builderOf(a.value, start.value)
	if b == nil {
		return wrap[U32](value{bad: "a distance of addresses that no instruction has made"})
	}
	return wrap[U32](b.computeAs(OpSubU32, TypeU32, b.withoutOffset(a.value), b.withoutOffset(start.value)))
}

// At is the address n bytes on; it costs no instruction.
func (a Global64) At(n int) Global64 { return wrap[Global64](a.at(n)) }

// Add is the address n bytes on.
func (a Global64) Add(n U64) Global64 {
	return wrap[Global64](onward(OpAddU64, TypeGlobal64, a.value, n.value))
}

// Index is the address of element i of an array of elements of this many bytes.
func (a Global64) Index(i U32, bytes uint32) Global64 {
	if i.operand.Kind == OperandImmediate {
		return a.At(int(i.operand.Value) * int(bytes))
	}
	return wrap[Global64](onward(OpMadWideU32, TypeGlobal64, a.value, i.value, constant(uint64(bytes))))
}

// AlignDown is the address rounded down to a multiple of n, a power of two.
func (a Global64) AlignDown(n uint64) Global64 {
	b := builderOf(a.value)
	if b == nil {
		return a
	}
	if n == 0 || n&(n-1) != 0 {
		b.fail("an alignment to %d, which is no power of two", n)
	}
	return wrap[Global64](b.computeAs(OpAndB64, TypeGlobal64, b.withoutOffset(a.value), constant(^(n - 1))))
}

// Low is the lower half of the address.
func (a Global64) Low() U32 {
	b := builderOf(a.value)
	if b == nil {
		return wrap[U32](a.value)
	}
	return wrap[U32](b.compute(OpCvtU32U64, b.withoutOffset(a.value)))
}

// onward computes an address from one that keeps its constant offset.
func onward(op Opcode, t Type, a value, more ...value) value {
	b := builderOf(a)
	if b == nil {
		return a
	}
	offset := a.operand.Offset
	a.operand.Offset = 0
	src := append([]value{a}, more...)
	if op == OpMadWideU32 {
		src = append(more, a)
	}
	v := b.computeAs(op, t, src...)
	v.operand.Offset = offset
	return v
}

// address makes an operand of an address.
func (b *Builder) address(a value) Operand {
	o := b.use(a)
	if o.Kind != OperandRegister {
		b.fail("an address that is in no register")
	}
	o.Kind = OperandAddress
	return o
}
