// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

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
