// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// varying puts the first predicate that the kernel computes in the place of the
// guard of its branches and returns.
func varying(op ptx.Opcode) func(code []ptx.Instruction) {
	return func(code []ptx.Instruction) {
		p := ptx.NoRegister
		for i := range code {
			switch {
			case p == ptx.NoRegister && code[i].Op == ptx.OpSetpLtU32:
				p = code[i].Dst[0]
			case code[i].Op == ptx.OpBraUni && code[i].Guard.Register != ptx.NoRegister:
				code[i].Op, code[i].Guard.Register = op, p
			case code[i].Op == ptx.OpRet && code[i].Guard.Register != ptx.NoRegister:
				code[i].Guard.Register = p
			}
		}
	}
}

// each alters the instructions of one opcode.
func each(op ptx.Opcode, f func(in *ptx.Instruction)) func(code []ptx.Instruction) {
	return func(code []ptx.Instruction) {
		for i := range code {
			if code[i].Op == op {
				f(&code[i])
			}
		}
	}
}

// early computes the predicate that varying takes.
func (r *room) early() { r.lane.Lt(n(16)) }

var orderFaults = []planted{
	{name: "warp barrier under divergence", kind: sim.ErrPartialMask, who: "0/0/16", detail: "only lanes 0x0000ffff are here", body: func(r *room) {
		r.early()
		r.If(r.zero.Eq(n(0)), func() {
			r.here()
			r.WarpSync()
		})
		r.WarpSync()
	}, alter: varying(ptx.OpBra)},
	{name: "shuffle under divergence", kind: sim.ErrPartialMask, who: "0/0/16", body: func(r *room) {
		r.early()
		r.If(r.zero.Eq(n(0)), func() {
			r.here()
			r.ShflUp(r.lane, n(1))
		})
		r.WarpSync()
	}, alter: varying(ptx.OpBra)},
	{name: "vote under divergence", kind: sim.ErrPartialMask, body: func(r *room) {
		r.early()
		r.If(r.zero.Eq(n(0)), func() {
			r.here()
			r.Any(r.lane.Eq(n(1)))
		})
		r.WarpSync()
	}, alter: varying(ptx.OpBra)},
	{name: "block barrier under divergence", kind: sim.ErrDivergentBarrier, who: "0/0/16", body: func(r *room) {
		r.early()
		r.If(r.zero.Eq(n(0)), func() {
			r.here()
			r.BlockSync()
		})
		r.BlockSync()
	}, alter: varying(ptx.OpBra)},
	{name: "exit before a warp barrier", kind: sim.ErrDivergentExit, who: "0/0/0", detail: "0x0000ffff have exited", body: func(r *room) {
		r.early()
		r.ReturnIf(r.zero.Ne(n(0)))
		r.here()
		r.WarpSync()
	}, alter: varying(ptx.OpBra)},
	{name: "exit before a block barrier", kind: sim.ErrDivergentExit, who: "0/0/0", body: func(r *room) {
		r.early()
		r.If(r.zero.Ne(n(0)), func() { r.Return() })
		r.here()
		r.BlockSync()
	}, alter: varying(ptx.OpBra)},
	{name: "partial mask of a warp barrier", kind: sim.ErrPartialMask, who: "0/0/16", detail: "the mask is 0x0000ffff", body: func(r *room) {
		r.here()
		r.WarpSync()
	}, alter: each(ptx.OpBarWarpSync, func(in *ptx.Instruction) { in.Src[0].Value = 0xffff })},
	{name: "partial mask of a shuffle", kind: sim.ErrPartialMask, who: "0/0/31", body: func(r *room) {
		r.here()
		r.ShflBfly(r.lane, n(1))
	}, alter: each(ptx.OpShflBfly, func(in *ptx.Instruction) { in.Src[3].Value = 0x7fffffff })},
	{name: "partial mask of a vote", kind: sim.ErrPartialMask, body: func(r *room) {
		r.here()
		r.Ballot(r.lane.Eq(n(3)))
	}, alter: each(ptx.OpVoteBallot, func(in *ptx.Instruction) { in.Src[1].Value = 1 })},
	{name: "warps at different barriers", kind: sim.ErrDeadlock, who: "0/1/0", body: func(r *room) {
		r.warp.Lt(n(1))
		r.IfElse(r.zero.Eq(n(0)), func() { r.BlockSync() }, func() { r.BlockSync() })
	}, alter: func(code []ptx.Instruction) {
		varying(ptx.OpBraUni)(code)
		number := uint64(0)
		each(ptx.OpBarSync, func(in *ptx.Instruction) { in.Src[0].Value, number = number, number+1 })(code)
	}},
	{name: "lanes that do not agree", kind: sim.ErrNotUniform, who: "0/0/16", body: func(r *room) {
		r.early()
		r.here()
		r.If(r.zero.Eq(n(0)), func() { r.lane.Add(n(1)) })
	}, alter: func(code []ptx.Instruction) { varying(ptx.OpBraUni)(code) }},
	{name: "endless loop", kind: sim.ErrStepLimit, detail: "after 16384 instructions", body: func(r *room) {
		r.Loop(func() {
			r.lane.Add(n(1))
			r.BreakIf(r.zero.Eq(either(r, n(1), n(0))))
		})
	}},
	{name: "endless loop of some lanes", kind: sim.ErrStepLimit, who: "0/0/9", body: func(r *room) {
		r.Loop(func() {
			r.BreakIf(either(r, r.lane.Ne(n(9)), ptx.True))
		})
	}},
	{name: "a register that nobody wrote", kind: sim.ErrUndefined, who: "0/0/0", body: func(r *room) {
		x := r.lane.Brev()
		r.here()
		x.Add(n(1))
	}, alter: each(ptx.OpBrevB32, func(in *ptx.Instruction) {
		*in = ptx.Instruction{Guard: in.Guard, Dst: [4]ptx.RegisterID{-1, -1, -1, -1}}
	})},
	{name: "a guard that half of the lanes wrote", kind: sim.ErrUndefined, who: "0/0/16", body: func(r *room) {
		r.early()
		x := r.lane.Brev()
		p := r.lane.Eq(n(2))
		r.When(p, func() {
			r.here()
			x.Add(n(1))
		})
	}, alter: func(code []ptx.Instruction) {
		p := ptx.NoRegister
		each(ptx.OpSetpLtU32, func(in *ptx.Instruction) { p = in.Dst[0] })(code)
		each(ptx.OpSetpEqU32, func(in *ptx.Instruction) { in.Guard.Register = p })(code)
	}},
	{name: "a register that half of the lanes wrote", kind: sim.ErrUndefined, who: "0/0/16", body: func(r *room) {
		r.early()
		x := r.lane.Brev()
		r.here()
		x.Add(n(1))
	}, alter: func(code []ptx.Instruction) {
		p := ptx.NoRegister
		each(ptx.OpSetpLtU32, func(in *ptx.Instruction) { p = in.Dst[0] })(code)
		each(ptx.OpBrevB32, func(in *ptx.Instruction) { in.Guard.Register = p })(code)
	}},
}
