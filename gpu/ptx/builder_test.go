// SPDX-License-Identifier: Apache-2.0

package ptx_test

import (
	"slices"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// A loop that lanes leave one by one is divergent from its first instruction on, also where its
// conditions are not; behind it the lanes are together again. Its counter is the same in all lanes
// that still count.
func TestLanesMayLeaveALoop(t *testing.T) {
	k := build(t, "leave", func(b *ptx.Builder) {
		out, lane := b.ParamGlobal("out"), b.LaneID()
		b.For(n(0), n(40), n(1), func(i ptx.U32) {
			b.If(i.Eq(n(7)), func() { out.StoreU32(i) })
			b.BreakIf(lane.Eq(i))
		})
		b.BlockSync()
	})
	code := k.Instructions()
	first := slices.IndexFunc(code, func(in ptx.Instruction) bool { return in.Op == ptx.OpSetpLtU32 })
	end := slices.IndexFunc(code, func(in ptx.Instruction) bool { return in.Op == ptx.OpBarSync })
	if first < 0 || end < first {
		t.Fatal(k.PTX())
	}
	for i, in := range code {
		inside := i >= first && i < end
		if inside != (in.Control == ptx.Varying) {
			t.Errorf("instruction %d, %v, is reached %v", i, in.Op, in.Control)
		}
		if in.Op == ptx.OpBraUni {
			t.Errorf("instruction %d is %v", i, in.Op)
		}
	}
}

func TestSharedArraysAreAligned(t *testing.T) {
	k := build(t, "arrays", func(b *ptx.Builder) {
		b.Shared("a", 3, 1)
		b.Shared("b", 20, 16)
		b.Shared("c", 2, 2)
		b.Shared("d", 8, 8)
	})
	want := []ptx.SharedArray{{Name: "a", Offset: 0, Size: 3, Align: 1}, {Name: "b", Offset: 16, Size: 20, Align: 16}, {Name: "c", Offset: 36, Size: 2, Align: 2}, {Name: "d", Offset: 40, Size: 8, Align: 8}}
	if got := k.Shared(); !slices.Equal(got, want) || k.SharedBytes() != 48 {
		t.Errorf("%+v, %d bytes", got, k.SharedBytes())
	}
}

// Values that come out of warp-wide instructions, loads and the machine's registers have a level: a
// variable of that level takes each.
func TestWhatIsUniform(t *testing.T) {
	build(t, "uniform", func(b *ptx.Builder) {
		a, s := b.ParamGlobal("a"), b.Shared("s", 64, 16)
		for _, v := range []ptx.U32{
			b.ShflIdx(b.LaneID(), b.WarpID()), b.ShflBfly(b.WarpID(), b.LaneID()), b.Ballot(b.LaneID().Eq(n(0))), b.WarpID(),
			a.LoadU32(), s.Add(b.WarpID()).LoadU8(), a.LoadU64().Low(), a.LoadGlobal().LoadU8(), a.LoadV4()[3],
			ptx.Select(b.Any(b.LaneID().Eq(n(0))), b.WarpID(), n(1)), b.WarpID().Clz(),
		} {
			ptx.NewUniform(b, v)
		}
		for _, v := range []ptx.U32{b.CtaidX(), b.NtidX().Mul(b.NctaidX()), b.ParamU32("p"), b.Warps()} {
			ptx.NewVarU32(b, v, ptx.UniformBlock)
		}
		low, high := a.LoadU64().Unpack()
		ptx.NewUniform(b, low.Pack(high))
		// In a part of the program that only some lanes reach, these agree on what is declared
		// there.
		b.If(b.LaneID().Eq(n(0)), func() {
			v := ptx.NewUniform(b, n(0))
			b.If(b.CtaidX().Eq(n(1)), func() { v.Set(n(1)) })
		})
	})
}

// An instruction remembers the line of the kernel's author, also where a function of the author's
// own stands between.
func TestLinesAreTheAuthors(t *testing.T) {
	b := ptx.New("lines", 32)
	lane := b.LaneID()
	twice := func(x ptx.U32) ptx.U32 {
		return x.Add(x)
	}
	twice(lane)
	k, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	code := k.Instructions()
	if first, second := code[0].Line, code[1].Line; first.File != "builder_test.go" || second.File != first.File || second.Line != first.Line+2 {
		t.Errorf("the lines are %v and %v", first, second)
	}
}
