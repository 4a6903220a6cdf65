// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"fmt"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// Each case is one access by a warp, at the addresses lane*stride + start, or
// all at start.
func TestBankConflicts(t *testing.T) {
	for _, c := range []struct {
		width, stride, start int
		want                 uint64
	}{
		{4, 4, 0, 0},
		{4, 8, 0, 1},
		{4, 12, 0, 0},
		{4, 16, 4, 3},
		{4, 128, 0, 31},
		{4, 132, 0, 0},
		{4, 0, 64, 0}, // all want the same word
		{1, 1, 0, 0},
		{1, 4, 3, 0},
		{2, 2, 0, 0},
		{2, 64, 0, 15},
		{8, 8, 0, 0}, // by halves
		{8, 16, 0, 2},
		{16, 16, 0, 0}, // by quarters
		{16, 32, 0, 4},
	} {
		t.Run(fmt.Sprintf("%d bytes every %d from %d", c.width, c.stride, c.start), func(t *testing.T) {
			k := build(t, 32, func(b *ptx.Builder) {
				a := b.Shared("a", 32*136, 16)
				b.For(b.LaneID().Shl(n(2)), n(32*136), n(128), func(i ptx.U32) { a.Add(i).StoreU32(i) })
				b.WarpSync()
				at := a.At(c.start)
				if c.stride > 0 {
					at = at.Add(b.LaneID().Mul(n(uint32(c.stride))))
				}
				loadWidth(at, c.width)
			})
			stats, err := newDevice().Launch(k, 1, 32)
			if err != nil {
				t.Fatal(err)
			}
			if stats.BankConflicts != c.want || stats.Shared != 34+1 {
				t.Errorf("%d conflicts in %d accesses, want %d in 35", stats.BankConflicts, stats.Shared, c.want)
			}
		})
	}
}

// Two words of each bank are wanted, by many lanes each: two passes.
func TestBankConflictsOfFewWords(t *testing.T) {
	k := build(t, 32, func(b *ptx.Builder) {
		a, lane := b.Shared("a", 256, 4), b.LaneID()
		a.Add(lane.Shl(n(2))).StoreU32(lane)
		a.At(128).Add(lane.Shl(n(2))).StoreU32(lane)
		b.WarpSync()
		a.Add(lane.Shr(n(4)).Shl(n(7))).LoadU32()
	})
	if stats, err := newDevice().Launch(k, 1, 32); err != nil || stats.BankConflicts != 1 {
		t.Errorf("%d conflicts, %v", stats.BankConflicts, err)
	}
}

func loadWidth[A place[A]](a A, width int) {
	switch width {
	case 1:
		a.LoadU8()
	case 2:
		a.LoadU16()
	case 4:
		a.LoadU32()
	case 8:
		a.LoadU64()
	case 16:
		a.LoadV4()
	}
}

func TestCoalescing(t *testing.T) {
	for _, c := range []struct {
		width, stride, start int
		sectors, lines       uint64
		coalesced            uint64
	}{
		{4, 4, 0, 4, 1, 1},
		{4, 4, 16, 5, 2, 1},
		{4, 8, 0, 8, 2, 0},
		{4, 32, 0, 32, 8, 0},
		{4, 256, 0, 32, 32, 0},
		{4, 0, 100, 1, 1, 1},
		{1, 1, 31, 2, 1, 1},
		{1, 1, 0, 1, 1, 1},
		{8, 8, 0, 8, 2, 1},
		{16, 16, 0, 16, 4, 1},
		{16, 16, 16, 17, 5, 1},
		{16, 32, 0, 32, 8, 0},
	} {
		t.Run(fmt.Sprintf("%d bytes every %d from %d", c.width, c.stride, c.start), func(t *testing.T) {
			k := build(t, 32, func(b *ptx.Builder) {
				in := b.ParamGlobal("in").At(c.start)
				if c.stride > 0 {
					in = in.Index(b.LaneID(), uint32(c.stride))
				}
				loadWidth(in, c.width)
			})
			d := newDevice()
			stats, err := d.Launch(k, 1, 32, alloc(t, d, sim.Spec{Name: "in"}, make([]byte, 64*256)))
			if err != nil {
				t.Fatal(err)
			}
			want := sim.Traffic{Instructions: 1, Bytes: uint64(32 * c.width), Sectors: c.sectors, Transactions: c.lines, Coalesced: c.coalesced}
			if stats.Loads != want {
				t.Errorf("got %+v, want %+v", stats.Loads, want)
			}
		})
	}
}

func TestCountsByClass(t *testing.T) {
	k := build(t, 64, func(b *ptx.Builder) {
		io, a := b.ParamGlobal("io").Index(b.TidX(), 4), b.Shared("a", 256, 4).Add(b.TidX().Shl(n(2)))
		a.StoreU32(io.LoadU32())
		a.AtomicAdd(n(1))
		b.BlockSync()
		b.If(b.LaneID().Lt(n(8)), func() { io.StoreU32(b.LaneID().Add(a.LoadU32())) })
		b.Ballot(b.LaneID().Lt(n(3)))
		b.When(b.TidX().Eq(n(0)), func() { io.AtomicAdd(n(1)) })
	})
	d := newDevice()
	stats, err := d.Launch(k, 1, 64, alloc(t, d, sim.Spec{Name: "io"}, make([]byte, 256)))
	if err != nil {
		t.Fatal(err)
	}
	var sum uint64
	for c, got := range stats.Class {
		sum += got
		want := map[sim.Class]uint64{sim.GlobalLoad: 2, sim.GlobalStore: 2, sim.GlobalAtomic: 2, sim.SharedLoad: 2, sim.SharedStore: 2,
			sim.SharedAtomic: 2, sim.Exchange: 2, sim.Barrier: 2, sim.Compare: 6, sim.Branch: 4}
		if w, ok := want[sim.Class(c)]; ok && got != w {
			t.Errorf("%v: %d, want %d", sim.Class(c), got, w)
		}
	}
	if sum != stats.Instructions || stats.Branches != 2 || stats.Divergent != 2 {
		t.Errorf("%d by class: %+v", sum, stats)
	}
	if stats.Stores.Bytes != 2*8*4 || stats.Atomics.Bytes != 4 || stats.Atomics.Instructions != 1 {
		t.Errorf("%+v, %+v", stats.Stores, stats.Atomics)
	}
	if lanes := stats.ActiveLanes(); lanes < 20 || lanes >= 32 {
		t.Errorf("%.1f lanes were active", lanes)
	}
	if sim.Class(sim.Classes-1).String() != "barrier" || sim.Integer.String() != "integer" {
		t.Error("classes have other names")
	}
}
