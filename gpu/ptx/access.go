// SPDX-License-Identifier: Apache-2.0

package ptx

// read appends a load. Lanes that load from one address together get one value, unless other
// threads may write it at the same time.
func read(op Opcode, a value) [4]value {
	var loaded [4]value
	b := builderOf(a)
	if b == nil {
		for i := range loaded {
			loaded[i] = value{bad: "a load from an address that no instruction has made"}
		}
		return loaded
	}
	u := min(a.uniformity, UniformWarp, b.control())
	if op.Signature().Relaxed {
		u = Varying
	}
	in := b.append(op, Guard{Register: NoRegister}, b.address(a))
	copy(loaded[:], b.results(in, u))
	return loaded
}

func write(op Opcode, a value, values ...value) {
	b := builderOf(append(values, a)...)
	if b == nil {
		return
	}
	address := b.address(a)
	operands, _ := b.operands(values)
	b.append(op, Guard{Register: NoRegister}, append([]Operand{address}, operands...)...)
}

// update appends an atomic operation and returns the value before it.
func update(op Opcode, a value, values ...value) value {
	b := builderOf(append(values, a)...)
	if b == nil {
		return value{bad: "an atomic operation on an address that no instruction has made"}
	}
	address := b.address(a)
	operands, _ := b.operands(values)
	in := b.append(op, Guard{Register: NoRegister}, append([]Operand{address}, operands...)...)
	return b.results(in, Varying)[0]
}

func four(v [4]value) [4]U32 {
	return [4]U32{wrap[U32](v[0]), wrap[U32](v[1]), wrap[U32](v[2]), wrap[U32](v[3])}
}

// LoadU8 reads a byte.
func (a Shared32) LoadU8() U32 { return wrap[U32](read(OpLdSharedU8, a.value)[0]) }

// LoadU16 reads two bytes, from an even address.
func (a Shared32) LoadU16() U32 { return wrap[U32](read(OpLdSharedU16, a.value)[0]) }

// LoadU32 reads four bytes, from a multiple of four.
func (a Shared32) LoadU32() U32 { return wrap[U32](read(OpLdSharedU32, a.value)[0]) }

// LoadU64 reads eight bytes, from a multiple of eight.
func (a Shared32) LoadU64() U64 { return wrap[U64](read(OpLdSharedU64, a.value)[0]) }

// LoadV4 reads sixteen bytes, from a multiple of sixteen.
func (a Shared32) LoadV4() [4]U32 { return four(read(OpLdSharedV4U32, a.value)) }

// StoreU8 writes the lowest byte of v.
func (a Shared32) StoreU8(v U32) { write(OpStSharedU8, a.value, v.value) }

// StoreU16 writes the lower two bytes of v, at an even address.
func (a Shared32) StoreU16(v U32) { write(OpStSharedU16, a.value, v.value) }

// StoreU32 writes four bytes, at a multiple of four.
func (a Shared32) StoreU32(v U32) { write(OpStSharedU32, a.value, v.value) }

// StoreU64 writes eight bytes, at a multiple of eight.
func (a Shared32) StoreU64(v U64) { write(OpStSharedU64, a.value, v.value) }

// StoreV4 writes sixteen bytes, at a multiple of sixteen.
func (a Shared32) StoreV4(v [4]U32) {
	write(OpStSharedV4U32, a.value, v[0].value, v[1].value, v[2].value, v[3].value)
}

// LoadU8 reads a byte.
func (a Global64) LoadU8() U32 { return wrap[U32](read(OpLdGlobalU8, a.value)[0]) }

// LoadU16 reads two bytes, from an even address.
func (a Global64) LoadU16() U32 { return wrap[U32](read(OpLdGlobalU16, a.value)[0]) }

// LoadU32 reads four bytes, from a multiple of four.
func (a Global64) LoadU32() U32 { return wrap[U32](read(OpLdGlobalU32, a.value)[0]) }

// LoadU64 reads eight bytes, from a multiple of eight.
func (a Global64) LoadU64() U64 { return wrap[U64](read(OpLdGlobalU64, a.value)[0]) }

// LoadV4 reads sixteen bytes, from a multiple of sixteen.
func (a Global64) LoadV4() [4]U32 { return four(read(OpLdGlobalV4U32, a.value)) }

// StoreU8 writes the lowest byte of v.
func (a Global64) StoreU8(v U32) { write(OpStGlobalU8, a.value, v.value) }

// StoreU16 writes the lower two bytes of v, at an even address.
func (a Global64) StoreU16(v U32) { write(OpStGlobalU16, a.value, v.value) }

// StoreU32 writes four bytes, at a multiple of four.
func (a Global64) StoreU32(v U32) { write(OpStGlobalU32, a.value, v.value) }

// StoreU64 writes eight bytes, at a multiple of eight.
func (a Global64) StoreU64(v U64) { write(OpStGlobalU64, a.value, v.value) }

// StoreV4 writes sixteen bytes, at a multiple of sixteen.
func (a Global64) StoreV4(v [4]U32) {
	write(OpStGlobalV4U32, a.value, v[0].value, v[1].value, v[2].value, v[3].value)
}

// LoadGlobal reads an address of global memory, from a multiple of eight.
func (a Global64) LoadGlobal() Global64 {
	b := builderOf(a.value)
	if b == nil {
		return a
	}
	u := min(a.uniformity, UniformWarp, b.control())
	return wrap[Global64](b.define(OpLdGlobalU64, TypeGlobal64, u, b.address(a.value)))
}

// LoadVolatileU32 reads four bytes just here and just once, even if other threads are writing them.
func (a Shared32) LoadVolatileU32() U32 { return wrap[U32](read(OpLdVolatileSharedU32, a.value)[0]) }

// StoreVolatileU32 writes four bytes just here and just once, even if other threads are reading or
// writing them.
func (a Global64) StoreVolatileU32(v U32) { write(OpStVolatileGlobalU32, a.value, v.value) }

// AtomicAdd adds v and returns what was there before.
func (a Global64) AtomicAdd(v U32) U32 {
	return wrap[U32](update(OpAtomGlobalAddU32, a.value, v.value))
}

// AtomicAdd adds v and returns what was there before.
func (a Shared32) AtomicAdd(v U32) U32 {
	return wrap[U32](update(OpAtomSharedAddU32, a.value, v.value))
}

// AtomicOr sets the bits of v and returns what was there before.
func (a Shared32) AtomicOr(v U32) U32 { return wrap[U32](update(OpAtomSharedOrB32, a.value, v.value)) }
