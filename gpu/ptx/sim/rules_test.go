// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// The simulator checks the builder's proofs of registers, if that is asked for.
func TestStrict(t *testing.T) {
	k := build(t, 32, func(b *ptx.Builder) {
		lane, block := b.LaneID(), b.CtaidX()
		lane.Wide()
		block.Wide().Add(ptx.N64(1))
		block.Popc().Clz()
		block.Lt(n(5)).Or(ptx.True)
	})
	var lane ptx.Operand
	each(ptx.OpCvtU64U32, func(in *ptx.Instruction) {
		if lane.Kind == ptx.OperandNone {
			lane = in.Src[0]
		}
	})(k.Instructions())
	takesLane := func(in *ptx.Instruction) { in.Src[0] = lane }
	if _, err := (&sim.Device{Strict: true}).Launch(k, 1, 32); err != nil {
		t.Fatal(err)
	}
	for _, op := range []ptx.Opcode{ptx.OpCvtU64U32, ptx.OpPopcB32, ptx.OpSetpLtU32} {
		altered := k.Altered(each(op, takesLane))
		_, err := (&sim.Device{Strict: true}).Launch(altered, 1, 32)
		if !errors.Is(err, sim.ErrNotUniform) || !strings.Contains(err.Error(), op.String()) {
			t.Errorf("%v: %v", op, err)
		}
		if _, err := (&sim.Device{}).Launch(altered, 1, 32); err != nil {
			t.Errorf("not strict: %v", err)
		}
	}
}

// A barrier of the block does not wait for warps that have ended.
func TestWarpsThatHaveEnded(t *testing.T) {
	k := build(t, 96, func(b *ptx.Builder) {
		b.WarpID().Lt(n(2))
		a := b.Shared("a", 384, 4).Add(b.TidX().Shl(n(2)))
		b.ReturnIf(b.ParamU32("zero").Ne(n(0)))
		a.StoreU32(n(1))
		b.BlockSync()
		a.LoadU32()
	}).Altered(varying(ptx.OpBra))
	for seed := range uint64(4) {
		if stats, err := (&sim.Device{Seed: seed}).Launch(k, 1, 96, 0); err != nil || stats.Class[sim.SharedLoad] == 0 {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// An instruction for the whole warp whose guard holds nowhere does nothing.
func TestExchangeUnderGuard(t *testing.T) {
	k := build(t, 32, func(b *ptx.Builder) {
		never := b.ParamU32("zero").Ne(n(0))
		b.When(never, func() {
			b.WarpSync()
			b.Ballot(b.LaneID().Lt(n(4)))
		})
	})
	for seed := range uint64(4) {
		stats, err := (&sim.Device{Seed: seed}).Launch(k, 1, 32, 0)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if _, err := (&sim.Device{Seed: seed}).Launch(k, 1, 32, 1); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if seed == 0 && (stats.Class[sim.Barrier] != 1 || stats.ActiveLanes() >= 32) {
			t.Errorf("%+v", stats)
		}
	}
}

// A launch that does nothing has no shares.
func TestEmptyStats(t *testing.T) {
	var s sim.Stats
	if s.ActiveLanes() != 0 || s.Loads.CoalescedShare() != 0 || s.Loads.Efficiency() != 0 {
		t.Errorf("%+v", s)
	}
}

func TestSpecialRegisters(t *testing.T) {
	k := build(t, 64, func(b *ptx.Builder) {
		out := b.ParamGlobal("out").Index(b.CtaidX().Mad(n(64), b.TidX()), 32)
		out.StoreV4([4]ptx.U32{b.TidX(), b.NtidX(), b.CtaidX(), b.NctaidX()})
		out.At(16).StoreV4([4]ptx.U32{b.LaneID(), b.LanemaskLT(), b.WarpID(), b.Warps().Add(b.LaneID())})
	})
	d := newDevice()
	out := alloc(t, d, sim.Spec{Name: "out", Size: 3 * 64 * 32}, nil)
	for _, grid := range []uint32{3, 2} { // the second launch is in the rooms of the first
		if _, err := d.Launch(k, int(grid), 64, out); err != nil {
			t.Fatal(err)
		}
		for i := range grid * 64 {
			tid, lane := i%64, i%32
			want := words(tid, 64, i/64, grid, lane, 1<<lane-1, tid/32, 2+lane)
			if got := read(t, d, out+uint64(32*i), 32); !bytes.Equal(got, want) {
				t.Errorf("grid %d, thread %d: got %x, want %x", grid, i, got, want)
			}
		}
	}
}
