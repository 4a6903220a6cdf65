// SPDX-License-Identifier: Apache-2.0

package ptx

// value is what all types of values contain: a register or a constant, and the builder's knowledge
// of it.
type value struct {
	b          *Builder // nil for a constant
	operand    Operand
	uniformity Uniformity
	region     *region // where it was made, and may be used
	negated    bool    // for a Pred: the opposite is meant
	// For the value of a variable: the variable, and when it was read.
	variable *variable
	version  int
	event    int
	bad      string // why it is invalid
}

// A U32 is a value of 32 bits.
type U32 struct{ value }

// A U64 is a value of 64 bits.
type U64 struct{ value }

// A Pred is true or false: a condition.
type Pred struct{ value }

// A Shared32 is an address in the block's shared memory.
type Shared32 struct{ value }

// A Global64 is an address in global memory.
type Global64 struct{ value }

// A Value is any of the types of values.
type Value interface {
	U32 | U64 | Pred | Shared32 | Global64
	raw() value
}

// A Selectable is a value that [Select] takes: any but a condition.
type Selectable interface {
	U32 | U64 | Shared32 | Global64
	raw() value
}

func (v value) raw() value { return v }

func wrap[T Value](v value) T { return T(struct{ value }{v}) }

// typeOf returns the type of the registers that hold such a value.
func typeOf(v any) Type {
	switch v.(type) {
	case U32:
		return TypeU32
	case U64:
		return TypeU64
	case Pred:
		return TypePred
	case Shared32:
		return TypeShared32
	case Global64:
		return TypeGlobal64
	}
	return TypeNone
}

func constant(n uint64) value {
	return value{operand: Operand{Kind: OperandImmediate, Value: n}, uniformity: UniformBlock}
}

// N is a constant of 32 bits.
func N(n uint32) U32 { return wrap[U32](constant(uint64(n))) }

// N64 is a constant of 64 bits.
func N64(n uint64) U64 { return wrap[U64](constant(n)) }

// True and False are the constants of type Pred.
var (
	True  = wrap[Pred](constant(1))
	False = wrap[Pred](constant(0))
)

// builderOf returns the builder of some values; constants have none.
func builderOf(values ...value) *Builder {
	for _, v := range values {
		if v.b != nil {
			return v.b
		}
	}
	return nil
}

// compute applies an opcode to values. At least one value must belong to a builder.
func compute(op Opcode, src ...value) value {
	b := builderOf(src...)
	if b == nil {
		return value{bad: op.String() + " of constants alone: compute it in Go"}
	}
	return b.compute(op, src...)
}

// use checks that a value may be read here and returns it as an operand.
func (b *Builder) use(v value) Operand {
	switch {
	case v.bad != "":
		b.fail("%s", v.bad)
	case v.operand.Kind == OperandNone:
		b.fail("a value that no instruction has made")
	case v.operand.Kind == OperandImmediate:
		return v.operand
	case v.b != b:
		b.fail("a value of another kernel, %s", v.b.kernel.name)
	case !b.region.within(v.region):
		b.fail("a value that was made under a condition or in a loop, and is used outside: keep it in a variable")
	case v.variable != nil:
		b.useRead(v)
	}
	if v.negated {
		return b.define(OpNotPred, TypePred, v.uniformity, v.operand).operand
	}
	return v.operand
}

// guardOn makes a guard of a condition.
func (b *Builder) guardOn(p Pred) Guard {
	v := p.value
	negated := v.negated
	v.negated = false
	o := b.use(v)
	switch o.Kind {
	case OperandNone:
		return Guard{Register: NoRegister}
	case OperandImmediate:
		o = b.define(OpMovPred, TypePred, UniformBlock, o).operand
	}
	return Guard{Register: o.Register, Negated: negated}
}

func (g Guard) not() Guard { return Guard{g.Register, !g.Negated} }
