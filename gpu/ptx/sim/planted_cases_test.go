// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"zramfs/gpu/ptx"
	"zramfs/gpu/ptx/sim"
)

var addressFaults = []planted{
	{name: "past the end of a buffer", kind: sim.ErrOutOfBounds, who: "0/0/31", detail: "4 bytes at out[64]+0 of 1024 bytes", body: func(r *room) {
		i := r.CtaidX().Mad(r.Warps(), r.warp).Mad(n(32), r.lane)
		r.here()
		r.out.Index(i, 4).At(either(r, 900, 0)).StoreU32(n(1))
	}},
	{name: "half past the end", kind: sim.ErrOutOfBounds, who: "0/0/0", detail: "16 bytes at in[255]+0 of 1024 bytes", body: func(r *room) {
		r.here()
		r.in.At(either(r, 1020, 1008)).LoadV4()
	}},
	{name: "before the start of a buffer", kind: sim.ErrOutOfBounds, who: "0/0/0", detail: "4 bytes at in-4 of 1024 bytes", body: func(r *room) {
		r.here()
		r.in.At(either(r, -4, 4)).LoadU32()
	}},
	{name: "into the next buffer", kind: sim.ErrOutOfBounds, body: func(r *room) {
		r.here()
		r.in.At(either(r, 1<<20, 0)).LoadU32()
	}},
	{name: "an address cut to 32 bits", kind: sim.ErrOutOfBounds, detail: "in no buffer", body: func(r *room) {
		a := r.in
		if r.fault {
			a = r.in.AlignDown(1 << 63).Add(r.in.Low().Wide())
		}
		r.here()
		a.LoadU32()
	}},
	{name: "a small number as an address", kind: sim.ErrOutOfBounds, detail: "0x2a0, which is in no buffer", body: func(r *room) {
		a := r.in
		if r.fault {
			a = r.in.AlignDown(1 << 63).Add(ptx.N64(0x2a0))
		}
		r.here()
		a.LoadU32()
	}},
	{name: "misaligned in global memory", kind: sim.ErrMisaligned, who: "0/0/0", detail: "4 bytes at in[0]+1", body: func(r *room) {
		r.here()
		r.in.At(either(r, 1, 4)).LoadU32()
	}},
	{name: "misaligned vector", kind: sim.ErrMisaligned, detail: "16 bytes at out[0]+8", body: func(r *room) {
		a := r.out.Index(r.CtaidX().Mad(r.Warps(), r.warp), 16)
		r.When(r.lane.Eq(n(0)), func() {
			r.here()
			a.At(either(r, 8, 0)).StoreV4([4]ptx.U32{r.lane, r.lane, r.lane, r.lane})
		})
	}},
	{name: "misaligned in shared memory", kind: sim.ErrMisaligned, who: "0/0/1", detail: "4 bytes at z+1 of 512 bytes", body: func(r *room) {
		a := r.z.Add(r.warp.Shl(n(7)))
		word(a, r.lane).StoreU32(r.lane)
		r.WarpSync()
		r.here()
		a.Add(either(r, r.lane, r.lane.Shl(n(2)))).LoadU32()
	}},
	{name: "an array that is aligned too little", kind: sim.ErrMisaligned, who: "0/0/0", detail: "8 bytes at a+0 of 512 bytes", body: func(r *room) {
		r.here()
		either(r, r.a, r.z).Add(r.TidX().Shl(n(3))).StoreU64(ptx.N64(1))
	}},
	{name: "past the end of an array", kind: sim.ErrOutOfBounds, who: "0/1/31", detail: "4 bytes at a+512 of 512 bytes", body: func(r *room) {
		word(r.z, r.TidX()).StoreU32(r.lane)
		r.here()
		word(r.a, r.TidX()).At(either(r, 260, 0)).StoreU32(r.lane)
	}},
	{name: "half past the end of an array", kind: sim.ErrOutOfBounds, who: "0/0/0", detail: "4 bytes at six+4 of 6 bytes", body: func(r *room) {
		r.When(r.TidX().Eq(n(0)), func() {
			r.six.StoreU32(n(0))
			r.six.At(4).StoreU16(n(0))
			r.here()
			r.six.At(either(r, 4, 0)).LoadU32()
		})
	}},
	{name: "what an earlier block wrote", kind: sim.ErrUninitialised, who: "1/0/0", body: func(r *room) {
		a := word(r.a, r.TidX())
		r.When(either(r, r.CtaidX().Eq(n(0)), ptx.True), func() { a.StoreU32(r.lane) })
		r.When(either(r, r.CtaidX().Eq(n(1)), ptx.True), func() {
			r.here()
			a.LoadU32()
		})
	}},
	{name: "before the start of an array", kind: sim.ErrOutOfBounds, detail: "1 bytes at z-1 of 512 bytes", body: func(r *room) {
		r.a.Add(r.TidX()).At(448).StoreU8(r.lane)
		r.here()
		r.z.Add(r.TidX()).At(either(r, -1, 0)).StoreU8(r.lane)
	}},
	{name: "shared memory that nobody wrote", kind: sim.ErrUninitialised, who: "0/0/0", detail: "a+0 of 512 bytes", body: func(r *room) {
		if !r.fault {
			word(r.a, r.TidX()).StoreU32(r.lane)
		}
		r.here()
		word(r.a, r.TidX()).LoadU32()
	}},
	{name: "a pad that is not cleared", kind: sim.ErrUninitialised, who: "0/0/20", detail: "a+20 of 512 bytes", body: func(r *room) {
		// 20 bytes are staged, and read through a window of 32.
		a := r.a.Add(r.warp.Shl(n(8)))
		r.When(r.lane.Lt(n(20)), func() { a.Add(r.lane).StoreU8(r.lane) })
		if !r.fault {
			r.When(r.lane.Ge(n(20)), func() { a.Add(r.lane).StoreU8(n(0)) })
		}
		r.WarpSync()
		r.here()
		a.Add(r.lane).LoadU8()
	}},
	{name: "half a word that nobody wrote", kind: sim.ErrUninitialised, who: "0/0/0", detail: "z+2 of 512 bytes", body: func(r *room) {
		a := word(r.z, r.TidX())
		a.StoreU16(r.lane)
		if !r.fault {
			a.At(2).StoreU16(r.lane)
		}
		r.here()
		a.LoadU32()
	}},
	{name: "global memory that nobody wrote", raw: true, kind: sim.ErrUninitialised, who: "0/0/0", detail: "4 bytes at out[0]+0", body: func(r *room) {
		a := r.out.Index(r.CtaidX().Mad(r.NtidX(), r.TidX()), 4)
		if !r.fault {
			a.StoreU32(r.lane)
		}
		r.here()
		a.LoadU32()
	}},
	{name: "write to read-only memory", kind: sim.ErrReadOnly, who: "0/0/0", detail: "4 bytes at in[0]+0", body: func(r *room) {
		a := either(r, r.in, r.out).Index(r.CtaidX().Mad(r.NtidX(), r.TidX()), 4)
		r.here()
		a.StoreU32(r.lane)
	}},
	{name: "atomic on read-only memory", kind: sim.ErrReadOnly, body: func(r *room) {
		r.here()
		either(r, r.in, r.out).AtomicAdd(n(1))
	}},
	{name: "use after free", kind: sim.ErrUseAfterFree, who: "0/0/0", detail: "4 bytes at in[3]+0", body: func(r *room) {
		r.here()
		r.in.At(12).LoadU32()
	}, prone: func(d *sim.Device, in, _ uint64) { _ = d.Memory.Free(in) }},
	{name: "division by zero", kind: sim.ErrDivisionByZero, who: "0/0/0", body: func(r *room) {
		r.here()
		r.lane.Div(either(r, r.zero, r.zero.Add(n(1))))
	}},
}

var sharedRaces = []planted{
	{name: "write, then read without a warp barrier", kind: sim.ErrRace, who: "0/0/0", detail: "4 bytes at a+4 of 512 bytes with warp 0, lane 1", body: func(r *room) {
		r.clear()
		word(r.a, r.TidX()).StoreU32(r.lane)
		r.warpSyncUnless()
		r.here()
		word(r.a, r.TidX().Xor(n(1))).LoadU32()
	}},
	{name: "write, then read across a shuffle", kind: sim.ErrRace, who: "0/0/0", body: func(r *room) {
		r.clear()
		word(r.a, r.TidX()).StoreU32(r.lane)
		r.warpSyncUnless()
		r.ShflIdx(r.lane, n(0))
		r.Ballot(r.lane.Eq(n(0)))
		r.here()
		word(r.a, r.TidX().Xor(n(1))).LoadU32()
	}},
	{name: "two writes without a warp barrier", kind: sim.ErrRace, who: "0/0/5", detail: "with warp 0, lane 0", body: func(r *room) {
		a := r.a.Add(r.warp.Shl(n(7)))
		r.When(r.lane.Eq(n(0)), func() { a.StoreU32(n(1)) })
		r.warpSyncUnless()
		five := r.lane.Eq(n(5))
		r.When(five, func() {
			r.here()
			a.StoreU8(n(2))
		})
	}},
	{name: "read, then write without a warp barrier", kind: sim.ErrRace, who: "0/0/0", detail: "a+0 of 512 bytes with warp 0, lane 1", body: func(r *room) {
		a := word(r.a, r.TidX())
		a.StoreU32(r.lane)
		r.WarpSync()
		word(r.a, r.TidX().Xor(n(1))).LoadU32()
		r.warpSyncUnless()
		r.here()
		a.StoreU32(n(0))
	}},
	{name: "many read, one writes", kind: sim.ErrRace, who: "0/0/7", detail: "with warp 0, several lanes", body: func(r *room) {
		a := word(r.a, r.TidX())
		a.StoreU32(r.lane)
		r.WarpSync()
		word(r.a, r.warp.Shl(n(5)).Add(n(7))).LoadU32()
		r.warpSyncUnless()
		seven := r.lane.Eq(n(7))
		r.When(seven, func() {
			r.here()
			a.StoreU32(n(0))
		})
	}},
	{name: "one store, one address", kind: sim.ErrRace, who: "0/0/1", detail: "with warp 0, lane 0", body: func(r *room) {
		r.here()
		either(r, r.a.Add(r.warp.Shl(n(2))), word(r.a, r.TidX())).StoreU32(r.lane)
	}},
	{name: "plain stores where relaxed ones are meant", kind: sim.ErrRace, body: func(r *room) {
		a := r.a.Add(r.warp.Shl(n(2)))
		if r.fault {
			r.here()
			a.StoreU32(r.lane)
			return
		}
		a.StoreRelaxedU32(r.lane)
		a.LoadRelaxedU32()
	}},
	{name: "a plain read of what was stored relaxed", kind: sim.ErrRace, body: func(r *room) {
		a := r.a.Add(r.warp.Shl(n(2)))
		a.StoreRelaxedU16(r.lane)
		r.warpSyncUnless()
		r.here()
		a.LoadU16()
	}},
	{name: "a plain read of a counter", kind: sim.ErrRace, body: func(r *room) {
		a := r.a.Add(r.warp.Shl(n(2)))
		r.When(r.lane.Eq(n(0)), func() { a.StoreU32(n(0)) })
		r.WarpSync()
		a.AtomicAdd(r.lane)
		r.warpSyncUnless()
		r.here()
		a.LoadU32()
	}},
	{name: "a plain write to a counter", kind: sim.ErrRace, body: func(r *room) {
		a := word(r.a, r.TidX())
		a.StoreU32(n(0))
		r.WarpSync()
		r.a.Add(r.warp.Shl(n(7))).AtomicAdd(r.lane)
		r.warpSyncUnless()
		r.here()
		word(r.a, r.TidX().Xor(n(1))).StoreU32(n(0))
	}},
	{name: "a counter that others just cleared", kind: sim.ErrRace, body: func(r *room) {
		r.clear()
		word(r.a, r.TidX()).StoreU32(n(0))
		r.warpSyncUnless()
		r.here()
		word(r.a, r.TidX().Xor(n(1))).AtomicAdd(r.lane)
	}},
	{name: "a counter that others just read", kind: sim.ErrRace, body: func(r *room) {
		a := word(r.a, r.TidX())
		a.StoreU32(n(0))
		r.WarpSync()
		a.LoadU32()
		r.warpSyncUnless()
		r.here()
		word(r.a, r.TidX().Xor(n(1))).AtomicAdd(r.lane)
	}},
	{name: "both warps read, one writes", kind: sim.ErrRace, who: "0/1/0", detail: "with several warps", body: func(r *room) {
		r.clear()
		r.a.LoadU32()
		if !r.fault {
			r.BlockSync()
		}
		second := r.TidX().Eq(n(32))
		r.When(second, func() {
			r.here()
			r.a.StoreU32(n(1))
		})
	}},
	{name: "write, then read without the block's barrier", kind: sim.ErrRace, who: "0/0/0", body: func(r *room) {
		r.clear()
		word(r.a, r.TidX()).StoreU32(r.lane)
		if !r.fault {
			r.BlockSync()
		}
		r.here()
		word(r.a, r.TidX().Xor(n(1))).LoadU32()
	}},
	{name: "wrong warp stride", kind: sim.ErrRace, who: "0/1/0", detail: "a+64 of 512 bytes with warp 0, lane 16", body: func(r *room) {
		r.here()
		word(r.a.Add(r.warp.Shl(either(r, n(6), n(7)))), r.lane).StoreU32(r.lane)
	}},
	{name: "a warp barrier where the block's is meant", kind: sim.ErrRace, who: "0/1/0", detail: "a+128 of 512 bytes with warp 0, lane 0", body: func(r *room) {
		r.clear()
		// The second warp writes what the first has read already.
		r.here()
		word(r.a, r.TidX()).StoreU32(r.lane)
		if r.fault {
			r.WarpSync()
		} else {
			r.BlockSync()
		}
		word(r.a, r.TidX().Xor(n(32))).LoadU32()
	}},
	{name: "another warp reads before the write", kind: sim.ErrRace, body: func(r *room) {
		r.clear()
		// The first warp has written when the second reads.
		a, other := word(r.a, r.TidX()), word(r.a, r.TidX().Xor(n(32)))
		r.here()
		other.LoadU32()
		if !r.fault {
			r.BlockSync()
		}
		a.StoreU32(r.lane)
	}},
}

var globalRaces = []planted{
	{name: "global write, then read without a barrier", kind: sim.ErrRace, who: "0/0/0", detail: "out[0]+4 with warp 0, lane 1", body: func(r *room) {
		i := r.CtaidX().Mad(r.NtidX(), r.TidX())
		r.out.Index(i, 4).StoreU32(r.lane)
		r.warpSyncUnless()
		r.here()
		r.out.Index(i.Xor(n(1)), 4).LoadU32()
	}},
	{name: "global read, then write without a barrier", kind: sim.ErrRace, who: "0/0/0", body: func(r *room) {
		i := r.CtaidX().Mad(r.NtidX(), r.TidX())
		r.out.Index(i, 4).StoreU32(r.lane)
		r.WarpSync()
		r.out.Index(i.Xor(n(1)), 4).LoadU32()
		r.warpSyncUnless()
		r.here()
		r.out.Index(i, 4).StoreU32(n(1))
	}},
	{name: "two global writes without a barrier", kind: sim.ErrRace, who: "0/0/0", detail: "with warp 0, lane 1", body: func(r *room) {
		i := r.CtaidX().Mad(r.NtidX(), r.TidX())
		r.out.Index(i, 4).StoreU32(r.lane)
		r.warpSyncUnless()
		r.here()
		r.out.Index(i.Xor(n(1)), 4).StoreU32(r.lane)
	}},
	{name: "blocks read what one of them writes", kind: sim.ErrRace, who: "1/0/0", detail: "with several blocks", body: func(r *room) {
		at := either(r, r.out, r.out.Index(r.CtaidX(), 16))
		r.If(r.TidX().Eq(n(0)), func() {
			at.LoadU32()
			r.If(r.CtaidX().Eq(n(1)), func() {
				r.here()
				at.StoreU32(n(1))
			})
		})
	}},
	{name: "two blocks write one word", kind: sim.ErrRace, detail: "4 bytes at out[0]+0 with block", body: func(r *room) {
		first := r.TidX().Eq(n(0))
		r.When(first, func() {
			r.here()
			r.out.Index(either(r, r.zero, r.CtaidX()), 4).StoreU32(r.lane)
		})
	}},
	{name: "one block reads what another writes", kind: sim.ErrRace, body: func(r *room) {
		// Which of the two sees it is a matter of time.
		r.If(r.TidX().Eq(n(0)), func() {
			r.out.Index(r.CtaidX(), 4).StoreU32(r.lane)
			r.out.Index(either(r, r.CtaidX().Xor(n(1)), r.CtaidX()), 4).LoadU32()
		})
	}},
	{name: "a cursor that is not atomic", kind: sim.ErrRace, body: func(r *room) {
		first := r.TidX().Eq(n(0))
		if r.fault {
			r.When(first, func() { r.out.StoreU32(r.out.LoadU32().Add(n(1))) })
			return
		}
		r.When(first, func() { r.out.AtomicAdd(n(1)) })
	}},
}

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
			r.ShflDown(r.lane, n(1))
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
	{name: "endless loop", kind: sim.ErrStepLimit, detail: "after 65536 instructions", body: func(r *room) {
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
