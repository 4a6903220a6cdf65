// SPDX-License-Identifier: Apache-2.0

package ptx_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// program is a kernel made at random: nested conditions and loops, uniform and not, with warp-wide
// instructions and barriers in them wherever chance puts them. In many places they are wrong, which
// the builder has to see.
type program struct {
	*ptx.Builder
	random *rand.Rand
	sum    *ptx.Var[ptx.U32] // of what the thread has seen
	warp   *ptx.Var[ptx.U32]
	block  *ptx.Var[ptx.U32]
	lane   ptx.U32
	out    ptx.Global64
}

// flat is how deep conditions and loops are nested at most.
const flat = 3

func randomProgram(seed uint64) (*ptx.Kernel, error) {
	b := ptx.New("random", 96)
	out, lane := b.ParamGlobal("out"), b.LaneID()
	p := &program{b, rand.New(rand.NewPCG(seed, 1)), ptx.NewVar(b, lane), ptx.NewUniform(b, b.WarpID()), ptx.NewVarU32(b, b.CtaidX(), ptx.UniformBlock), lane,
		out.Index(b.CtaidX(), 4*96).Index(b.TidX(), 4)}
	if seed%2 == 0 {
		// Lanes of a loop that some have left must not do this together.
		p.For(n(0), n(3), n(1), func(ptx.U32) {
			p.some(flat, 1)
			p.some(flat, 1)
			p.some(flat, 1)
		})
	} else {
		p.some(0, 0)
		p.some(0, 0)
	}
	p.out.StoreU32(p.sum.Get())
	return b.Build()
}

// number is a value of any uniformity.
func (p *program) number() ptx.U32 {
	switch p.random.IntN(4) {
	case 0:
		return p.warp.Get().Add(n(1))
	case 1:
		return p.block.Get().Add(n(1))
	case 2:
		return n(1 + p.random.Uint32N(4))
	}
	return p.sum.Get().Xor(p.lane)
}

func (p *program) condition() ptx.Pred {
	return p.number().Add(n(p.random.Uint32N(8))).And(n(1 << p.random.IntN(3))).Eq(n(0))
}

// some builds an instruction or a piece of control flow.
func (p *program) some(depth, loops int) {
	inner := func() {
		for range 1 + p.random.IntN(2) {
			p.some(depth+1, loops)
		}
	}
	choice := p.random.IntN(20)
	if depth >= flat {
		choice = p.random.IntN(11)
	}
	switch {
	case choice < 2:
		p.sum.Set(p.sum.Get().Mad(n(31), p.number()))
	case choice < 8:
		p.together()
	case choice < 10 && loops > 0:
		p.BreakIf(p.condition())
	case choice < 11:
		p.out.StoreU32(p.sum.Get())
		p.ReturnIf(p.number().Eq(n(2)))
	case choice < 13:
		p.IfElse(p.condition(), inner, inner)
	case choice < 16:
		loops++
		p.For(n(0), p.number().And(n(3)), n(1), func(ptx.U32) { inner() })
	case choice < 18:
		loops++
		rounds := ptx.NewUniform(p.Builder, n(0))
		p.Repeat(func() ptx.Pred {
			inner()
			rounds.Set(rounds.Get().Add(n(1)))
			return rounds.Get().Lt(p.number().And(n(3)))
		})
	default:
		p.If(p.condition(), inner)
	}
}

// together builds something that concerns other threads, or sets what shall be the same in several.
func (p *program) together() {
	switch p.random.IntN(9) {
	case 0:
		p.warp.Set(p.Ballot(p.condition()).Popc())
	case 1:
		p.warp.Set(p.ShflIdx(p.sum.Get(), p.number()))
	case 2:
		p.sum.Set(p.ShflBfly(p.sum.Get(), n(1<<p.random.IntN(5))))
	case 3:
		p.block.Set(p.block.Get().Add(p.number()))
	case 4:
		p.warp.Set(p.warp.Get().Add(p.number()))
	case 5, 6:
		p.WarpSync()
	case 7:
		p.BlockSync()
	case 8:
		p.When(p.condition(), func() { p.sum.Set(p.sum.Get().Add(n(1))) })
	}
}

// A kernel that the builder accepts never has threads missing where they are needed, nor values
// that differ where it says that they are the same, and computes the same in any order of lanes and
// warps.
func TestAcceptedKernelsAreSound(t *testing.T) {
	const blocks = 6
	accepted, rejected := 0, 0
	for seed := range uint64(4000) {
		k, err := randomProgram(seed)
		if err != nil {
			rejected++
			continue
		}
		accepted++
		var want []byte
		for _, schedule := range []uint64{0, 1, 2, 3} {
			d := &sim.Device{Memory: sim.NewMemory(1 << 20), Seed: schedule, Strict: true, Workers: 1}
			out, err := d.Memory.Alloc(sim.Spec{Name: "out", Size: 4 * 96 * blocks})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Launch(k, blocks, 96, out); err != nil {
				t.Fatalf("seed %d, schedule %d: %v\n%s", seed, schedule, err, k.PTX())
			}
			got := make([]byte, 4*96*blocks)
			if err := d.Memory.CopyOut(got, out); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("seed %d: schedule %d comes to another result\n%s", seed, schedule, k.PTX())
			}
		}
	}
	t.Logf("%d kernels accepted, %d refused", accepted, rejected)
	if accepted < 200 || rejected < 200 {
		t.Errorf("%d kernels accepted, %d refused: that proves little", accepted, rejected)
	}
}
