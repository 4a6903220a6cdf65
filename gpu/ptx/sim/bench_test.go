// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// benchmark reports warp instructions a second of one worker.
func benchmark(b *testing.B, k *ptx.Kernel, grid int, args func(d *sim.Device) []uint64) {
	d := &sim.Device{Memory: sim.NewMemory(1 << 30), Workers: 1}
	list := args(d)
	var done uint64
	for b.Loop() {
		stats, err := d.Launch(k, grid, k.Threads(), list...)
		if err != nil {
			b.Fatal(err)
		}
		done += stats.Instructions
	}
	b.ReportMetric(float64(done)/b.Elapsed().Seconds()/1e6, "Mwarpinst/s")
}

func none(*sim.Device) []uint64 { return nil }

func BenchmarkArithmetic(b *testing.B) {
	k := build(b, 128, func(b *ptx.Builder) {
		x := ptx.NewVar(b, b.LaneID())
		b.For(n(0), n(4096), n(1), func(i ptx.U32) {
			x.Set(x.Get().Mad(n(5), i))
			x.Set(x.Get().Xor(x.Get().Shr(n(7))))
			x.Set(x.Get().Add(b.ShflIdx(x.Get(), n(3))))
		})
	})
	benchmark(b, k, 4, none)
}

// Half of the lanes take part.
func BenchmarkDivergent(b *testing.B) {
	k := build(b, 128, func(b *ptx.Builder) {
		x := ptx.NewVar(b, b.LaneID())
		b.For(n(0), n(4096), n(1), func(i ptx.U32) {
			b.If(x.Get().And(n(1)).Eq(i.And(n(1))), func() {
				x.Set(x.Get().Mad(n(5), i))
				x.Set(x.Get().Xor(x.Get().Shr(n(7))))
			})
		})
	})
	benchmark(b, k, 4, none)
}

// Bytes are moved about in shared memory as a decompressor does.
func BenchmarkShared(b *testing.B) {
	k := build(b, 128, func(b *ptx.Builder) {
		a := b.Shared("a", 4*4096+128, 16)
		mine := a.Add(b.WarpID().Shl(n(12)))
		lane := b.LaneID()
		b.For(n(0), n(4096), n(32), func(i ptx.U32) { mine.Add(i).Add(lane).StoreU8(i) })
		b.For(n(0), n(1024), n(1), func(i ptx.U32) {
			b.WarpSync()
			from, to := mine.Add(i).Add(lane), mine.Add(i.Mul(n(3)).And(n(2047))).Add(lane)
			v := from.LoadU8()
			b.WarpSync()
			to.StoreU8(v)
		})
	})
	benchmark(b, k, 4, none)
}

func BenchmarkGlobal(b *testing.B) {
	benchmark(b, sumKernel(b), 64, func(d *sim.Device) []uint64 {
		return []uint64{alloc(b, d, sim.Spec{Name: "rows", Access: sim.ReadOnly}, make([]byte, 256*4096)), alloc(b, d, sim.Spec{Name: "sums", Size: 1024}, nil), 256}
	})
}

// Whole vectors are copied, as pages are flushed.
func BenchmarkCopy(b *testing.B) {
	k := build(b, 128, func(b *ptx.Builder) {
		in, out := b.ParamGlobal("in"), b.ParamGlobal("out")
		row := b.CtaidX().Mad(b.Warps(), b.WarpID())
		from, to := in.Index(row, 4096).Index(b.LaneID(), 16), out.Index(row, 4096).Index(b.LaneID(), 16)
		for i := range 8 {
			to.At(512 * i).StoreV4(from.At(512 * i).LoadV4())
		}
	})
	b.SetBytes(256 * 4096)
	benchmark(b, k, 64, func(d *sim.Device) []uint64 {
		return []uint64{alloc(b, d, sim.Spec{Name: "in", Access: sim.ReadOnly}, make([]byte, 256*4096)), alloc(b, d, sim.Spec{Name: "out", Size: 256 * 4096}, nil)}
	})
}

// One block of one warp that does nothing: what a launch costs.
func BenchmarkLaunch(b *testing.B) {
	k := build(b, 32, func(b *ptx.Builder) {
		a := b.Shared("a", 40<<10, 16)
		a.Add(b.LaneID()).StoreU8(n(0))
	})
	benchmark(b, k, 1, none)
}
