// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

var n = ptx.N

func build(t testing.TB, threads int, body func(b *ptx.Builder)) *ptx.Kernel {
	t.Helper()
	b := ptx.New("kernel", threads)
	body(b)
	k, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newDevice() *sim.Device {
	return &sim.Device{Memory: sim.NewMemory(1 << 30), StepLimit: 1 << 14, Strict: true}
}

// alloc makes a buffer with the given bytes in it.
func alloc(t testing.TB, d *sim.Device, s sim.Spec, content []byte) uint64 {
	t.Helper()
	s.Size = max(s.Size, len(content))
	addr, err := d.Memory.Alloc(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Memory.CopyIn(addr, content); err != nil {
		t.Fatal(err)
	}
	return addr
}

func read(t testing.TB, d *sim.Device, addr uint64, size int) []byte {
	t.Helper()
	b := make([]byte, size)
	if err := d.Memory.CopyOut(b, addr); err != nil {
		t.Fatal(err)
	}
	return b
}

func words(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// Rows of bytes are summed by a warp each, with shuffles.
func sumKernel(t testing.TB) *ptx.Kernel {
	return build(t, 128, func(b *ptx.Builder) {
		rows, sums, count := b.ParamGlobal("rows"), b.ParamGlobal("sums"), b.ParamU32("count")
		row := b.CtaidX().Mad(b.Warps(), b.WarpID())
		b.If(row.Lt(count), func() {
			lane := b.LaneID()
			mine := rows.Index(row, 4096).Index(lane, 4)
			sum := ptx.NewVar(b, n(0))
			b.For(n(0), n(4096/4), n(32), func(i ptx.U32) {
				sum.Set(sum.Get().Add(mine.Index(i, 4).LoadU32()))
			})
			for distance := uint32(16); distance > 0; distance /= 2 {
				sum.Set(sum.Get().Add(b.ShflBfly(sum.Get(), n(distance))))
			}
			b.When(lane.Eq(n(0)), func() { sums.Index(row, 4).StoreU32(sum.Get()) })
		})
	})
}

func TestSumsRows(t *testing.T) {
	k := sumKernel(t)
	for _, seed := range []uint64{0, 1, 2} {
		d := newDevice()
		d.Seed = seed
		const count = 11
		rows, want := make([]byte, count*4096), make([]uint32, count)
		for i := range count * 1024 {
			binary.LittleEndian.PutUint32(rows[4*i:], uint32(i*i))
			want[i/1024] += uint32(i * i)
		}
		in := alloc(t, d, sim.Spec{Name: "rows", Stride: 4096, Access: sim.ReadOnly}, rows)
		out := alloc(t, d, sim.Spec{Name: "sums", Size: 4 * count, Stride: 4}, nil)
		stats, err := d.Launch(k, 3, 128, in, out, count)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, d, out, 4*count); !bytes.Equal(got, words(want...)) {
			t.Errorf("seed %d: got %x, want %x", seed, got, words(want...))
		}
		if seed == 0 && (stats.Blocks != 3 || stats.Warps != 12 || stats.Loads.Instructions != 32*count || stats.Loads.Sectors != 128*count ||
			stats.Loads.Transactions != 32*count || stats.Loads.CoalescedShare() != 1 || stats.Loads.Efficiency() != 1 || stats.Divergent != 0) {
			t.Errorf("%+v", stats)
		}
	}
}
