// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/bits"

	"github.com/zramfs/zramfs/gpu/ptx"
)

const full = ^uint32(0)

// bind selects the function that executes the opcode.
func (in *instr) bind(op ptx.Opcode, sig ptx.Signature) bool {
	switch sig.Effect {
	case ptx.EffectBranch:
		in.kind = branch
		return true
	case ptx.EffectReturn:
		in.kind = ret
		return true
	case ptx.EffectBlock:
		in.kind = blockSync
		return true
	case ptx.EffectFence:
		// A fence orders accesses but publishes nothing, so races are judged without it.
		in.run = func(*warp, *instr, uint32) {}
	case ptx.EffectWarp:
		in.kind = warpSync
		in.run = exchanges[op]
	case ptx.EffectLoad, ptx.EffectStore, ptx.EffectAtomic:
		in.access = newAccess(op, sig)
		in.run = in.access.runner(sig)
	default:
		in.bindValue(op)
	}
	return in.run != nil
}

func (in *instr) bindValue(op ptx.Opcode) {
	in.row, in.wide, in.combine = rowFuncs[op], wideFuncs[op], predFuncs[op]
	in.compare = compares[op]
	switch {
	case op == ptx.OpNop:
		in.run = func(*warp, *instr, uint32) {}
	case op == ptx.OpDivU32:
		in.run = runDivision
	case in.row != nil:
		in.run = runRow
	case in.wide != nil:
		in.run = runWide
	case in.combine != nil:
		in.run = runCombine
	case in.compare != nil:
		in.run = runCompare
	default:
		in.run = mixedFuncs[op]
	}
}

func runRow(w *warp, in *instr, m uint32) {
	d, a, b, c, e := &w.r32[in.dst[0]], &w.r32[in.src[0]], &w.r32[in.src[1]], &w.r32[in.src[2]], &w.r32[in.src[3]]
	if m == full {
		in.row(d, a, b, c, e)
		return
	}
	in.row(&w.scratch32, a, b, c, e)
	for ; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = w.scratch32[i]
	}
}

func runWide(w *warp, in *instr, m uint32) {
	d, a, b, c := &w.r64[in.dst[0]], &w.r64[in.src[0]], &w.r64[in.src[1]], &w.r64[in.src[2]]
	if m == full {
		in.wide(d, a, b, c)
		return
	}
	in.wide(&w.scratch64, a, b, c)
	for ; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = w.scratch64[i]
	}
}

func runDivision(w *warp, in *instr, m uint32) {
	by := &w.r32[in.src[1]]
	for rest := m; rest != 0; rest &= rest - 1 {
		if lane := bits.TrailingZeros32(rest); by[lane&31] == 0 {
			w.fail(ErrDivisionByZero, lane, "")
			return
		}
	}
	runRow(w, in, m)
}

func runCombine(w *warp, in *instr, m uint32) {
	w.setPred(in, m, in.combine(w.preds[in.src[0]], w.preds[in.src[1]]))
}

func runCompare(w *warp, in *instr, m uint32) {
	w.setPred(in, m, in.compare(&w.r32[in.src[0]], &w.r32[in.src[1]]))
}

// setPred writes the lanes of m of a predicate.
func (w *warp) setPred(in *instr, m, v uint32) {
	d := &w.preds[in.dst[0]]
	*d = *d&^m | v&m
}

// classOf returns the unit that would run an opcode.
func classOf(op ptx.Opcode, sig ptx.Signature) Class {
	if sig.Space != ptx.SpaceNone {
		return memoryClass(sig)
	}
	switch {
	case op == ptx.OpBarWarpSync || op == ptx.OpBarSync || op == ptx.OpMembarCta:
		return Barrier
	case sig.Effect == ptx.EffectWarp:
		return Exchange
	case sig.Effect == ptx.EffectBranch || sig.Effect == ptx.EffectReturn:
		return Branch
	case compares[op] != nil, predFuncs[op] != nil:
		return Compare
	case op >= ptx.OpLdParamU32 && op <= ptx.OpCvtU32U64, op == ptx.OpNop, op == ptx.OpSelpU32, op == ptx.OpSelpU64:
		return Move
	}
	return Integer
}

func memoryClass(sig ptx.Signature) Class {
	c := GlobalLoad
	if sig.Space == ptx.SpaceShared {
		c = SharedLoad
	}
	switch sig.Effect {
	case ptx.EffectStore:
		c++
	case ptx.EffectAtomic:
		c += 2
	}
	return c
}
