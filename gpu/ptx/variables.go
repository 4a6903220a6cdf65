// SPDX-License-Identifier: Apache-2.0

package ptx

// variable is a register that is written more than once.
type variable struct {
	register   RegisterID
	uniformity Uniformity
	region     *region // where it was declared
	version    int     // counts the writes
	written    Position
	// counter: it counts a loop's rounds and is visible only inside: threads that left the loop
	// earlier do not make it less uniform in the others.
	counter bool
}

// A Var is a variable of the kernel: it keeps a value across loops and conditions.
//
// Get returns the variable's register itself, not a copy. It is valid until the next Set, and later
// use is refused: use Copy to keep the old value.
type Var[T Value] struct {
	b *Builder
	v *variable
}

// NewVar declares a variable that may differ in each lane.
func NewVar[T Value](b *Builder, initial T) *Var[T] { return newVar(b, initial, Varying) }

// NewUniform declares a variable that is equal in all lanes of the warp. Only such values may be
// assigned, and only where the warp's lanes are together.
func NewUniform[T Value](b *Builder, initial T) *Var[T] { return newVar(b, initial, UniformWarp) }

func newVar[T Value](b *Builder, initial T, u Uniformity) *Var[T] {
	t := typeOf(initial)
	v := &variable{register: b.register(t, u, true), uniformity: u, region: b.region}
	x := &Var[T]{b, v}
	b.assign(v, t, initial.raw())
	return x
}

// Get is the variable's value until the next Set.
func (x *Var[T]) Get() T {
	v := x.b.made(x.v.register, x.v.uniformity)
	x.b.events++
	v.region, v.variable, v.version, v.event = x.v.region, x.v, x.v.version, x.b.events
	return wrap[T](v)
}

// Copy is the variable's value now, in a register of its own.
func (x *Var[T]) Copy() T {
	now := x.Get()
	return wrap[T](x.b.computeAs(moveOf(typeOf(now)), typeOf(now), now.raw()))
}

// Set gives the variable a new value.
func (x *Var[T]) Set(value T) { x.b.assign(x.v, typeOf(value), value.raw()) }

func moveOf(t Type) Opcode {
	switch t.Bits() {
	case 1:
		return OpMovPred
	case 64:
		return OpMovU64
	}
	return OpMovU32
}

func (b *Builder) assign(v *variable, t Type, source value) {
	if !b.region.within(v.region) {
		b.fail("a variable that was declared under a condition or in a loop is set outside of it")
		return
	}
	source = b.withoutOffset(source)
	o := b.use(source)
	if source.uniformity < v.uniformity {
		b.fail("a variable that is %v is given a value that is %v", v.uniformity, source.uniformity)
	}
	if reached := b.controlSince(v.region); reached < v.uniformity && !v.counter {
		b.fail("a variable that is %v is set where the code is reached by a condition that is %v", v.uniformity, reached)
	}
	in := b.append(moveOf(t), Guard{Register: NoRegister}, o)
	in.Dst[0] = v.register
	v.version++
	v.written = in.Line
	for r := b.region; r != v.region; r = r.parent {
		if r.loop == nil {
			continue
		}
		if !v.counter {
			r.loop.require(v.uniformity, in.Line, "the setting of a variable")
		}
		if read, ok := r.loop.outside[v]; ok {
			b.fail("the loop sets a variable whose value was taken before the loop and is used in it at %v: take it in the loop, or a Copy before", read)
		}
	}
}

// useRead checks the use of a value that Get returned.
func (b *Builder) useRead(v value) {
	if v.version != v.variable.version {
		b.fail("the value of a variable is used after the variable was set at %v: take it again, or take a Copy before", v.variable.written)
	}
	for r := b.region; r != v.variable.region && r != nil; r = r.parent {
		if r.loop != nil && v.event < r.loop.began {
			r.loop.outside[v.variable] = b.line()
		}
	}
}
