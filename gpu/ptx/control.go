// SPDX-License-Identifier: Apache-2.0

package ptx

// region is a part of the program that threads enter together: the whole kernel, a branch of a
// condition, a loop, or instructions under a guard.
type region struct {
	parent *region
	cond   Uniformity // how uniform the condition is on which it is entered, and on which a loop is left
	loop   *loop      // the loop, if the region is all of one
	when   *Guard     // under which all its instructions stand
	ended  bool       // what follows in the region is never reached
}

// loop is the state of a loop while its body is being built.
type loop struct {
	end     int  // label
	first   int  // index of its first instruction
	began   int  // event
	leaves  bool // by a branch to its end
	returns bool // by the end of its threads
	needs   []need
	outside map[*variable]Position // uses of values that were taken before the loop
}

// need is a requirement in a loop that holds only as long as the loop is left uniformly.
type need struct {
	uniformity Uniformity
	line       Position
	what       string
}

func (l *loop) require(u Uniformity, line Position, what string) {
	if u > Varying {
		l.needs = append(l.needs, need{u, line, what})
	}
}

// within reports whether r is inside outer or equal to it.
func (r *region) within(outer *region) bool {
	for ; r != nil; r = r.parent {
		if r == outer {
			return true
		}
	}
	return false
}

func (r *region) guard() Guard {
	for ; r != nil; r = r.parent {
		if r.when != nil {
			return *r.when
		}
	}
	return Guard{Register: NoRegister}
}

// controlSince returns how uniformly the threads that entered outer together reach this place.
func (b *Builder) controlSince(outer *region) Uniformity {
	u := UniformBlock
	for r := b.region; r != outer && r != nil; r = r.parent {
		u = min(u, r.cond)
	}
	return u
}

// control returns how uniformly this place is reached.
func (b *Builder) control() Uniformity { return min(b.controlSince(nil), b.floor) }

// together checks that all involved threads reach an instruction.
func (b *Builder) together(op Opcode, need Uniformity) {
	if reached := b.control(); reached < need {
		b.fail("%v is for threads that are together (%v), but a condition here is %v", op, need, reached)
	}
	for r := b.region; r != nil; r = r.parent {
		if r.loop != nil {
			r.loop.require(need, b.line(), op.String())
		}
	}
}

// inside builds body as a region of its own and reports whether its end is reached.
func (b *Builder) inside(r *region, body func()) bool {
	r.parent = b.region
	b.region = r
	body()
	b.region = r.parent
	return !r.ended
}

func (b *Builder) label() int {
	b.labels = append(b.labels, -1)
	return len(b.labels) - 1
}

func (b *Builder) place(label int) { b.labels[label] = len(b.kernel.code) }

// branch appends a branch to a label; u is the guard's uniformity.
func (b *Builder) branch(label int, guard Guard, u Uniformity) {
	op := OpBra
	if min(u, b.control()) > Varying {
		op = OpBraUni
	}
	b.append(op, guard).Target = label
}

// If runs then where the condition holds.
func (b *Builder) If(p Pred, then func()) { b.IfElse(p, then, nil) }

// IfElse runs then where the condition holds and otherwise where it does not. After it, all threads
// are together again.
func (b *Builder) IfElse(p Pred, then, otherwise func()) {
	guard, end := b.guardOn(p), b.label()
	target := end
	if otherwise != nil {
		target = b.label()
	}
	b.branch(target, guard.not(), p.uniformity)
	goesOn := b.inside(&region{cond: p.uniformity}, func() {
		if then(); otherwise != nil && !b.region.ended {
			b.branch(end, Guard{Register: NoRegister}, UniformBlock)
		}
	})
	if otherwise != nil {
		b.place(target)
		goesOn = b.inside(&region{cond: p.uniformity}, otherwise) || goesOn
		b.region.ended = !goesOn
	}
	b.place(end)
}

// When executes each instruction of body under the condition as its guard, without branches. It is
// for a few loads, stores, atomics and assignments; a body with control flow is refused.
func (b *Builder) When(p Pred, body func()) {
	if b.region.guard().Register != NoRegister {
		b.fail("When under When: combine the conditions")
	}
	if p.variable != nil {
		// The body may set the variable.
		p = wrap[Pred](b.computeAs(OpMovPred, TypePred, p.value))
	}
	guard := b.guardOn(p)
	b.inside(&region{cond: p.uniformity, when: &guard}, body)
}

// Loop repeats its body until a Break or BreakIf leaves it.
func (b *Builder) Loop(body func()) {
	l := b.loop()
	b.inside(&region{cond: UniformBlock, loop: l}, func() {
		head := b.label()
		b.place(head)
		body()
		if !b.region.ended {
			b.branch(head, Guard{Register: NoRegister}, UniformBlock)
		}
	})
	b.close(l)
}

// close ends a loop.
func (b *Builder) close(l *loop) {
	if !l.leaves && !l.returns {
		b.fail("a loop that nothing leaves")
	}
	b.place(l.end)
	b.region.ended = b.region.ended || !l.leaves
}

// While repeats its body as long as the condition holds, which is computed anew each time.
func (b *Builder) While(condition func() Pred, body func()) {
	b.Loop(func() {
		b.BreakIf(condition().Not())
		body()
	})
}

// Repeat runs its body once, and again as long as the condition that it returns holds. It takes one
// branch less each time than While.
func (b *Builder) Repeat(body func() Pred) {
	l := b.loop()
	b.inside(&region{cond: UniformBlock, loop: l}, func() {
		head := b.label()
		b.place(head)
		p := body()
		if b.region.ended {
			return
		}
		l.leaves = true
		b.lower(p.uniformity)
		b.branch(head, b.guardOn(p), p.uniformity)
	})
	b.close(l)
}

// For runs its body for i = from, from+step and so on, as long as i is below the limit.
func (b *Builder) For(from, limit, step U32, body func(i U32)) {
	i := newVar(b, from, min(from.uniformity, limit.uniformity, step.uniformity))
	i.v.counter = true
	b.While(func() Pred { return i.Get().Lt(limit) }, func() {
		body(i.Get())
		i.Set(i.Get().Add(step))
	})
}

// Break leaves the innermost loop.
func (b *Builder) Break() {
	if l := b.leave(UniformBlock); l != nil {
		b.branch(l.end, Guard{Register: NoRegister}, UniformBlock)
		b.region.ended = true
	}
}

// BreakIf leaves the innermost loop where the condition holds.
func (b *Builder) BreakIf(p Pred) {
	if l := b.leave(p.uniformity); l != nil {
		b.branch(l.end, b.guardOn(p), p.uniformity)
	}
}

// Return ends the threads that reach it, which must be whole warps.
func (b *Builder) Return() {
	b.returning(UniformBlock, Guard{Register: NoRegister})
	b.region.ended = true
}

// ReturnIf ends the threads in which the condition holds, which must be whole warps.
func (b *Builder) ReturnIf(p Pred) { b.returning(p.uniformity, b.guardOn(p)) }

func (b *Builder) returning(u Uniformity, guard Guard) {
	u = min(u, b.control())
	if u == Varying {
		b.fail("a return for some lanes of a warp only: leave the rest out by a condition")
	}
	b.append(OpRet, guard)
	b.floor = min(b.floor, u)
	for r := b.region; r != nil; r = r.parent {
		if r.loop != nil {
			r.loop.returns = true
			b.lowerLoop(r, u)
		}
	}
}

func (b *Builder) loop() *loop {
	b.events++
	return &loop{end: b.label(), first: len(b.kernel.code), began: b.events, outside: map[*variable]Position{}}
}

// leave returns the innermost loop for a break under a condition.
func (b *Builder) leave(u Uniformity) *loop {
	for r := b.region; r != nil; r = r.parent {
		u = min(u, r.cond)
		if r.loop != nil {
			r.loop.leaves = true
			b.lowerLoop(r, u)
			return r.loop
		}
	}
	b.fail("a break outside of loops")
	return nil
}

// lower records that the current region, a loop, is left on a condition of this uniformity.
func (b *Builder) lower(u Uniformity) { b.lowerLoop(b.region, u) }

func (b *Builder) lowerLoop(r *region, u Uniformity) {
	if u >= r.cond {
		return
	}
	r.cond = u
	for _, n := range r.loop.needs {
		if n.uniformity > u {
			b.failAt(n.line, "%s is for threads that are together (%v), but they leave the loop at %v on a condition that is %v", n.what, n.uniformity, b.line(), u)
		}
	}
	for i := r.loop.first; i < len(b.kernel.code); i++ {
		in := &b.kernel.code[i]
		in.Control = min(in.Control, u)
		if in.Op == OpBraUni && in.Control == Varying {
			in.Op = OpBra
		}
	}
}
