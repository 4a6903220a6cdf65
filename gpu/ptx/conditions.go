// SPDX-License-Identifier: Apache-2.0

package ptx

// Eq is x == y.
func (x U32) Eq(y U32) Pred { return pred(OpSetpEqU32, x.value, y.value) }

// Ne is x != y.
func (x U32) Ne(y U32) Pred { return pred(OpSetpNeU32, x.value, y.value) }

// Lt is x < y, unsigned.
func (x U32) Lt(y U32) Pred { return pred(OpSetpLtU32, x.value, y.value) }

// Le is x <= y, unsigned.
func (x U32) Le(y U32) Pred { return pred(OpSetpLeU32, x.value, y.value) }

// Gt is x > y, unsigned.
func (x U32) Gt(y U32) Pred { return pred(OpSetpGtU32, x.value, y.value) }

// Ge is x >= y, unsigned.
func (x U32) Ge(y U32) Pred { return pred(OpSetpGeU32, x.value, y.value) }

// LtS is x < y, signed.
func (x U32) LtS(y U32) Pred { return pred(OpSetpLtS32, x.value, y.value) }

// GtS is x > y, signed.
func (x U32) GtS(y U32) Pred { return pred(OpSetpGtS32, x.value, y.value) }

// And is p && q.
func (p Pred) And(q Pred) Pred { return pred(OpAndPred, p.value, q.value) }

// Or is p || q.
func (p Pred) Or(q Pred) Pred { return pred(OpOrPred, p.value, q.value) }

// Not is the opposite of p. As a condition it costs no instruction.
func (p Pred) Not() Pred {
	if p.operand.Kind == OperandImmediate {
		p.operand.Value ^= 1
	} else {
		p.negated = !p.negated
	}
	return p
}

// Select is x where p holds and y elsewhere. Two addresses in shared memory must belong to the same
// array.
func Select[T Selectable](p Pred, x, y T) T {
	vx, vy := x.raw(), y.raw()
	b := builderOf(p.value, vx, vy)
	if b == nil {
		return T(struct{ value }{value{bad: "a selection among constants: make it in Go"}})
	}
	vx, vy = b.withoutOffset(vx), b.withoutOffset(vy)
	condition := p.value
	if condition.negated {
		condition.negated = false
		vx, vy = vy, vx
	}
	op, t := OpSelpU32, typeOf(x)
	if t.Bits() == 64 {
		op = OpSelpU64
	}
	return T(struct{ value }{b.computeAs(op, t, vx, vy, condition)})
}
