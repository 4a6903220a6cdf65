// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
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
	{name: "far from any array", kind: sim.ErrOutOfBounds, who: "0/0/0", detail: "which is in no array", body: func(r *room) {
		r.here()
		word(r.a, r.TidX()).Add(either(r, n(0x40000000), n(0))).StoreU32(r.lane)
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
