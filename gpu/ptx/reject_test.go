// SPDX-License-Identifier: Apache-2.0

package ptx_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
)

var n = ptx.N

// rejected are kernels that must not be built. The fault is on line number at after the function's
// first, and the message says want.
var rejected = map[string]struct {
	build func(b *ptx.Builder)
	at    int
	want  string
}{
	"block barrier under a condition of lanes": {func(b *ptx.Builder) {
		b.If(b.LaneID().Eq(n(0)), func() {
			b.BlockSync()
		})
	}, 2, "bar.sync is for threads that are together (uniform in the block), but a condition here is varying"},
	"block barrier under a condition of warps": {func(b *ptx.Builder) {
		b.If(b.WarpID().Eq(n(0)), func() {
			b.BlockSync()
		})
	}, 2, "but a condition here is uniform in the warp"},
	"block barrier in the other branch": {func(b *ptx.Builder) {
		b.IfElse(b.WarpID().Eq(n(0)), func() {}, func() {
			b.BlockSync()
		})
	}, 2, "bar.sync"},
	"block barrier after some warps returned": {func(b *ptx.Builder) {
		b.ReturnIf(b.WarpID().Ge(n(3)))
		b.BlockSync()
	}, 2, "bar.sync"},
	"block barrier in a loop that some warps leave later": {func(b *ptx.Builder) {
		b.Loop(func() {
			b.BlockSync()
			b.BreakIf(b.WarpID().Eq(n(0)))
		})
	}, 2, "bar.sync is for threads that are together (uniform in the block), but they leave the loop at reject_test.go:"},
	"block barrier in a loop in which some warps return": {func(b *ptx.Builder) {
		b.Loop(func() {
			b.BlockSync()
			b.ReturnIf(b.WarpID().Eq(n(0)))
			b.BreakIf(b.CtaidX().Eq(n(0)))
		})
	}, 2, "bar.sync"},
	"warp barrier under a condition of lanes": {func(b *ptx.Builder) {
		b.If(b.LaneID().Eq(n(0)), func() {
			b.WarpSync()
		})
	}, 2, "bar.warp.sync"},
	"warp barrier under a guard of lanes": {func(b *ptx.Builder) {
		b.When(b.LaneID().Eq(n(0)), func() { b.WarpSync() })
	}, 1, "bar.warp.sync"},
	"warp barrier in a loop that lanes leave at its head": {func(b *ptx.Builder) {
		b.While(func() ptx.Pred { return b.LaneID().Eq(n(0)) }, func() {
			b.WarpSync()
		})
	}, 2, "bar.warp.sync"},
	"vote at the head of a loop that lanes leave": {func(b *ptx.Builder) {
		b.While(func() ptx.Pred {
			b.Any(b.LaneID().Eq(n(0)))
			return b.LaneID().Eq(n(0))
		}, func() {})
	}, 2, "vote.sync.any.pred"},
	"warp barrier in a loop that lanes leave at its foot": {func(b *ptx.Builder) {
		b.Repeat(func() ptx.Pred {
			b.WarpSync()
			return b.LaneID().Eq(n(0))
		})
	}, 2, "bar.warp.sync"},
	"shuffle in an inner loop of one that lanes leave": {func(b *ptx.Builder) {
		b.Loop(func() {
			b.For(n(0), n(4), n(1), func(i ptx.U32) {
				b.ShflIdx(i, n(0))
			})
			b.BreakIf(b.LaneID().Eq(n(0)))
		})
	}, 3, "shfl.sync.idx.b32"},
	"shuffle after a break of some lanes": {func(b *ptx.Builder) {
		b.Loop(func() {
			b.If(b.LaneID().Eq(n(0)), func() { b.Break() })
			b.ShflIdx(n(1), n(0))
		})
	}, 3, "shfl.sync.idx.b32"},
	"ballot of lanes": {func(b *ptx.Builder) {
		p := b.LaneID().Eq(n(0))
		b.If(p, func() { b.Ballot(p) })
	}, 2, "vote.sync.ballot.b32"},
	"match of lanes": {func(b *ptx.Builder) {
		b.If(b.LaneID().Eq(n(0)), func() { b.MatchAny(b.LaneID()) })
	}, 1, "match.any.sync.b32"},
	"return of lanes": {func(b *ptx.Builder) {
		b.ReturnIf(b.LaneID().Eq(n(0)))
	}, 1, "a return for some lanes of a warp only"},
	"return of lanes under a condition": {func(b *ptx.Builder) {
		b.If(b.LaneID().Eq(n(0)), func() { b.Return() })
	}, 1, "a return for some lanes of a warp only"},
	"varying value for a uniform variable": {func(b *ptx.Builder) {
		v := ptx.NewUniform(b, n(0))
		v.Set(b.LaneID())
	}, 2, "a variable that is uniform in the warp is given a value that is varying"},
	"shuffle from a varying lane for a uniform variable": {func(b *ptx.Builder) {
		ptx.NewUniform(b, b.ShflIdx(b.LaneID(), b.LaneID()))
	}, 1, "is given a value that is varying"},
	"load where not all lanes are for a uniform variable": {func(b *ptx.Builder) {
		a := b.ParamGlobal("a")
		b.If(b.LaneID().Eq(n(0)), func() { ptx.NewUniform(b, a.LoadU32()) })
	}, 2, "is given a value that is varying"},
	"load for the block's variable": {func(b *ptx.Builder) {
		ptx.NewVarU32(b, b.ParamGlobal("a").LoadU32(), ptx.UniformBlock)
	}, 1, "is given a value that is uniform in the warp"},
	"vote for the block's variable": {func(b *ptx.Builder) {
		ptx.NewVarU32(b, b.Ballot(b.LaneID().Eq(n(0))), ptx.UniformBlock)
	}, 1, "is given a value that is uniform in the warp"},
	"warp's value for the block's variable": {func(b *ptx.Builder) {
		ptx.NewVarU32(b, b.WarpID(), ptx.UniformBlock)
	}, 1, "a variable that is uniform in the block is given a value that is uniform in the warp"},
	"uniform variable set by some lanes": {func(b *ptx.Builder) {
		v := ptx.NewUniform(b, n(0))
		b.If(b.LaneID().Eq(n(0)), func() { v.Set(n(1)) })
	}, 2, "is set where the code is reached by a condition that is varying"},
	"uniform variable set in a loop that lanes leave later": {func(b *ptx.Builder) {
		v := ptx.NewUniform(b, n(0))
		b.Loop(func() {
			v.Set(n(1))
			b.BreakIf(b.LaneID().Eq(n(0)))
		})
	}, 3, "the setting of a variable is for threads that are together"},
	"value from a branch": {func(b *ptx.Builder) {
		var x ptx.U32
		b.If(b.CtaidX().Eq(n(0)), func() { x = b.LaneID() })
		x.Add(n(1))
	}, 3, "a value that was made under a condition or in a loop"},
	"value from the other branch": {func(b *ptx.Builder) {
		var x ptx.U32
		b.IfElse(b.CtaidX().Eq(n(0)), func() { x = b.LaneID() }, func() {
			x.Add(n(1))
		})
	}, 3, "a value that was made under a condition or in a loop"},
	"value from a loop": {func(b *ptx.Builder) {
		var x ptx.U32
		b.For(n(0), n(4), n(1), func(i ptx.U32) { x = b.LaneID() })
		x.Add(n(1))
	}, 3, "a value that was made under a condition or in a loop"},
	"value from a guard": {func(b *ptx.Builder) {
		var x ptx.U32
		b.When(b.LaneID().Eq(n(0)), func() { x = b.TidX() })
		x.Add(n(1))
	}, 3, "a value that was made under a condition or in a loop"},
	"variable from a branch": {func(b *ptx.Builder) {
		var x *ptx.Var[ptx.U32]
		b.If(b.LaneID().Eq(n(0)), func() { x = ptx.NewVar(b, n(0)) })
		x.Set(n(1))
	}, 3, "declared under a condition or in a loop is set outside"},
	"value of a variable after it was set": {func(b *ptx.Builder) {
		v := ptx.NewVar(b, n(0))
		old := v.Get()
		v.Set(n(1))
		old.Add(n(1))
	}, 4, "the value of a variable is used after the variable was set at reject_test.go:"},
	"value of a variable from before the loop that sets it": {func(b *ptx.Builder) {
		v := ptx.NewVar(b, n(0))
		old := v.Get()
		b.For(n(0), n(4), n(1), func(i ptx.U32) {
			next := old.Add(i)
			v.Set(next)
		})
	}, 5, "the loop sets a variable whose value was taken before the loop"},
	"zero value": {func(b *ptx.Builder) {
		var x ptx.U32
		b.LaneID().Add(x)
	}, 2, "a value that no instruction has made"},
	"zero address": {func(b *ptx.Builder) {
		var a ptx.Shared32
		a.StoreU32(b.LaneID())
	}, 2, "a value that no instruction has made"},
	"load from a zero address": {func(b *ptx.Builder) {
		var a ptx.Global64
		b.LaneID().Add(a.LoadU32())
	}, 2, "a load from an address that no instruction has made"},
	"constants alone": {func(b *ptx.Builder) {
		x := n(1).Add(n(2))
		b.LaneID().Add(x)
	}, 2, "add.u32 of constants alone: compute it in Go"},
	"halves of constants alone": {func(b *ptx.Builder) {
		low, _ := ptx.N64(1).Add(ptx.N64(2)).Unpack()
		b.LaneID().Add(low)
	}, 2, "add.u64 of constants alone: compute it in Go"},
	"far offset": {func(b *ptx.Builder) {
		b.ParamGlobal("a").At(1<<30).Index(n(3), 1<<30).LoadU8()
	}, 1, "an offset of 4294967296 bytes"},
	"selection among constants": {func(b *ptx.Builder) {
		b.LaneID().Add(ptx.Select(ptx.True, n(1), n(2)))
	}, 1, "a selection among constants"},
	"value of another kernel": {func(b *ptx.Builder) {
		b.LaneID().Add(ptx.New("other", 32).LaneID())
	}, 1, "a value of another kernel, other"},
	"code after a return": {func(b *ptx.Builder) {
		b.Return()
		b.LaneID()
	}, 2, "mov.u32 is never reached"},
	"code after both branches returned": {func(b *ptx.Builder) {
		b.IfElse(b.CtaidX().Eq(n(0)), b.Return, b.Return)
		b.LaneID()
	}, 2, "mov.u32 is never reached"},
	"code after a break": {func(b *ptx.Builder) {
		b.Loop(func() {
			b.Break()
			b.LaneID()
		})
	}, 3, "mov.u32 is never reached"},
	"break outside of loops": {func(b *ptx.Builder) {
		b.Break()
	}, 1, "a break outside of loops"},
	"endless loop": {func(b *ptx.Builder) {
		b.Loop(func() { b.LaneID() })
	}, 1, "a loop that nothing leaves"},
	"condition under a guard": {func(b *ptx.Builder) {
		b.When(b.LaneID().Eq(n(0)), func() {
			b.If(b.TidX().Eq(n(0)), func() {})
		})
	}, 2, "control flow under When: use If"},
	"break under a guard": {func(b *ptx.Builder) {
		b.Loop(func() {
			b.When(b.LaneID().Eq(n(0)), func() { b.Break() })
		})
	}, 2, "control flow under When: use If"},
	"conditional return under a guard": {func(b *ptx.Builder) {
		b.When(b.CtaidX().Eq(n(0)), func() { b.ReturnIf(b.NctaidX().Eq(n(0))) })
	}, 1, "control flow under When: use If"},
	"guard under a guard": {func(b *ptx.Builder) {
		b.When(b.LaneID().Eq(n(0)), func() {
			b.When(b.TidX().Eq(n(0)), func() {})
		})
	}, 2, "When under When"},
	"too much shared memory": {func(b *ptx.Builder) {
		b.Shared("a", 48<<10, 16)
		b.Shared("b", 1, 1)
	}, 2, "shared array b: 1 bytes from offset 49152 on: a block may have 49152 in all"},
	"shared array without bytes": {func(b *ptx.Builder) {
		b.Shared("a", 0, 16)
	}, 1, "shared array a: 0 bytes"},
	"odd alignment": {func(b *ptx.Builder) {
		b.Shared("a", 16, 3)
	}, 1, "shared array a: an alignment of 3"},
	"two arrays of a name": {func(b *ptx.Builder) {
		b.Shared("a", 16, 16)
		b.Shared("a", 16, 16)
	}, 2, "there are two shared arrays a"},
	"two parameters of a name": {func(b *ptx.Builder) {
		b.ParamU32("a")
		b.ParamGlobal("a")
	}, 2, "there are two parameters a"},
	"name that is none": {func(b *ptx.Builder) {
		b.ParamU32("a b")
	}, 1, `"a b" is no name for a parameter`},
	"too few registers": {func(b *ptx.Builder) {
		b.MaxRegisters(23)
	}, 1, "at most 23 registers"},
	"volatile load for a uniform variable": {func(b *ptx.Builder) {
		ptx.NewUniform(b, b.Shared("a", 4, 4).LoadVolatileU32())
	}, 1, "is given a value that is varying"},
	"alignment to no power of two": {func(b *ptx.Builder) {
		b.ParamGlobal("a").AlignDown(12)
	}, 1, "an alignment to 12"},
}

func TestRejections(t *testing.T) {
	for name, c := range rejected {
		t.Run(name, func(t *testing.T) {
			b := ptx.New("k", 128)
			c.build(b)
			k, err := b.Build()
			if err == nil {
				t.Fatalf("built:\n%s", k.PTX())
			}
			entry := runtime.FuncForPC(reflect.ValueOf(c.build).Pointer())
			_, line := entry.FileLine(entry.Entry())
			place := fmt.Sprintf("kernel k: reject_test.go:%d: ", line+c.at)
			if got := err.Error(); !strings.HasPrefix(got, place) || !strings.Contains(got, c.want) {
				t.Errorf("got  %s\nwant %s... %s", got, place, c.want)
			}
		})
	}
}

func TestRejectedBlocks(t *testing.T) {
	for _, threads := range []int{-32, 0, 1, 33, 1056} {
		if _, err := ptx.New("k", threads).Build(); err == nil {
			t.Errorf("a block of %d threads was accepted", threads)
		}
	}
	if _, err := ptx.New("1k", 32).Build(); err == nil {
		t.Error("a kernel named 1k was accepted")
	}
}

func TestBuilderIsUsedOnce(t *testing.T) {
	b := ptx.New("k", 32)
	if _, err := b.Build(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Build(); err == nil {
		t.Error("built twice")
	}
}

// All faults come out together, up to a number after which they say little.
func TestAllFaultsAreReported(t *testing.T) {
	b := ptx.New("k", 32)
	b.Break()
	b.ShflIdx(ptx.U32{}, n(0))
	for range 100 {
		b.Break()
	}
	_, err := b.Build()
	if err == nil {
		t.Fatal("built")
	}
	if !strings.Contains(err.Error(), "no instruction has made") || strings.Count(err.Error(), "a break outside of loops") != 19 {
		t.Errorf("the errors are: %v", err)
	}
}
