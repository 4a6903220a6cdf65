// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// path is a set of lanes at one place of the program.
//
// In lockstep the paths of a warp are a stack: the last one runs until it reaches the place where
// its lanes meet those of the path below, which includes them already. In a random schedule any
// path of the set may run, and paths meet only where an instruction needs the whole warp.
type path struct {
	pc, reconverge int32
	mask           uint32
	waiting        bool // random schedule: for the rest of the warp
}

// warp is one of a block's; one goroutine owns it.
type warp struct {
	block *block
	code  []instr
	index int

	r32     []row
	r64     []wide
	preds   []uint32
	defined []uint32 // by the kernel's registers: the lanes that have a value

	alive  uint32
	paths  []path
	random *rand.Rand // nil: lockstep
	steps  uint64

	synced  uint64 // the block's clock after the warp's last barrier
	waiting bool   // at a barrier of the block
	barrier uint32
	at      int32 // the instruction under way
	fault   *Fault

	scratch32 row
	scratch64 wide
	offsets   [WarpSize]int32
}

// begin puts the warp at the start of the program.
func (w *warp) begin() {
	clear(w.defined)
	w.alive, w.steps, w.synced, w.waiting, w.fault = full, 0, w.block.clock, false, nil
	w.paths = append(w.paths[:0], path{mask: full, reconverge: -1})
}

func (w *warp) done() bool { return w.alive == 0 }

// run executes up to budget instructions: fewer if the warp ends, faults or
// comes to a barrier of the block.
func (w *warp) run(budget int) {
	for ; budget > 0 && !w.waiting && w.alive != 0 && w.fault == nil; budget-- {
		if w.random != nil {
			w.step(w.pick())
			continue
		}
		top := len(w.paths) - 1
		p := &w.paths[top]
		if p.mask == 0 || p.pc == p.reconverge {
			w.paths = w.paths[:top]
			continue
		}
		w.step(p)
	}
}

// step executes the next instruction of a path.
func (w *warp) step(p *path) {
	in := &w.code[p.pc]
	w.at = p.pc
	m := p.mask
	if in.guard >= 0 {
		m &= w.preds[in.guard] ^ in.negate
	}
	count := &w.block.counts[p.pc]
	count.Warps++
	count.Lanes += uint64(bits.OnesCount32(m))
	if w.steps++; w.steps > w.block.limit {
		w.fail(ErrStepLimit, bits.TrailingZeros32(p.mask), fmt.Sprintf("after %d instructions", w.block.limit))
		return
	}
	if !w.isDefined(in, m, p.mask) {
		return
	}
	switch in.kind {
	case plain:
		p.pc++
		if m != 0 {
			in.run(w, in, m)
			w.define(in, m)
		}
	case branch:
		w.branch(p, in, m)
	case ret:
		p.pc++
		w.exit(m)
	default:
		w.sync(p, in, m)
	}
}

// isDefined reports whether the active lanes have written the registers that they read.
func (w *warp) isDefined(in *instr, m, whole uint32) bool {
	for i, r := range in.reads {
		need := m
		if i == 0 && in.guard >= 0 {
			need = whole
		}
		if missing := need &^ w.defined[r]; missing != 0 {
			w.fail(ErrUndefined, bits.TrailingZeros32(missing), fmt.Sprintf("register %d", r))
			return false
		}
	}
	return true
}

func (w *warp) define(in *instr, m uint32) {
	for i := range in.writes {
		d := &in.writes[i]
		w.defined[d.id] |= m
		if d.uniform && w.block.strict && m&(m-1) != 0 {
			w.checkUniform(d, m)
		}
	}
}

// checkUniform holds the kernel to what its builder proved of a register.
func (w *warp) checkUniform(d *written, m uint32) {
	first := bits.TrailingZeros32(m)
	for rest := m & (m - 1); rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros32(rest)
		var same bool
		switch d.bits {
		case 1:
			same = w.preds[d.file]>>i&1 == w.preds[d.file]>>first&1
		case 32:
			same = w.r32[d.file][i] == w.r32[d.file][first]
		default:
			same = w.r64[d.file][i] == w.r64[d.file][first]
		}
		if !same {
			w.fail(ErrNotUniform, i, fmt.Sprintf("register %d is not what lane %d has", d.id, first))
			return
		}
	}
}

// branch moves the lanes of taken to the target and the rest of p on.
func (w *warp) branch(p *path, in *instr, taken uint32) {
	w.block.stats.Branches++
	switch rest := p.mask &^ taken; {
	case rest == 0:
		p.pc = in.target
	case taken == 0:
		p.pc++
	case in.agreed:
		w.fail(ErrNotUniform, bits.TrailingZeros32(taken), fmt.Sprintf("lanes %#08x branch, lanes %#08x do not", taken, rest))
	default:
		w.block.stats.Divergent++
		w.diverge(p, in, taken, rest)
	}
}

func (w *warp) diverge(p *path, in *instr, taken, rest uint32) {
	on, to := path{pc: p.pc + 1, reconverge: in.reconverge, mask: rest}, path{pc: in.target, reconverge: in.reconverge, mask: taken}
	if w.random != nil {
		*p = on
		w.paths = append(w.paths, to)
		return
	}
	if p.reconverge == in.reconverge {
		w.paths = w.paths[:len(w.paths)-1] // those below hold its lanes
	} else {
		p.pc = in.reconverge
	}
	// Earlier instructions run first: lanes that return have done
	// so when others come to a barrier.
	last, first := to, on
	if on.pc > to.pc {
		last, first = on, to
	}
	for _, q := range [2]path{last, first} {
		if q.pc != q.reconverge {
			w.paths = append(w.paths, q)
		}
	}
}

// exit ends lanes.
func (w *warp) exit(m uint32) {
	w.alive &^= m
	for i := range w.paths {
		w.paths[i].mask &^= m
	}
}

// sync executes an instruction that needs all lanes.
func (w *warp) sync(p *path, in *instr, m uint32) {
	switch {
	case m == 0:
		p.pc++
	case in.kind == warpSync && in.immediate != full:
		w.fail(ErrPartialMask, bits.TrailingZeros32(^in.immediate), fmt.Sprintf("the mask is %#08x", in.immediate))
	case m != full && m == p.mask && w.random != nil:
		p.waiting = true
	case m != full:
		w.missing(in, m)
	case in.kind == warpSync:
		p.pc++
		in.run(w, in, m)
		w.define(in, m)
	default:
		p.pc++
		w.waiting, w.barrier = true, in.immediate
	}
}

// missing faults: of the warp only the lanes of m are here.
func (w *warp) missing(in *instr, m uint32) {
	kind := ErrPartialMask
	if in.kind == blockSync {
		kind = ErrDivergentBarrier
	}
	if m == w.alive {
		kind = ErrDivergentExit
	}
	w.fail(kind, bits.TrailingZeros32(^m), fmt.Sprintf("only lanes %#08x are here, %#08x have exited", m, ^w.alive))
}

// fail stops the warp.
func (w *warp) fail(kind error, lane int, detail string) {
	if w.fault != nil {
		return
	}
	p := w.block.program
	from := &p.source[w.at]
	w.fault = &Fault{Kind: kind, Kernel: p.kernel.Name(), Source: from.Line.String(), Op: from.Op.String(),
		Block: w.block.number, Warp: w.index, Lane: lane, Detail: detail}
}
