// SPDX-License-Identifier: Apache-2.0

package ptx_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/zramfs/zramfs/gpu/internal/ptxas"
	"github.com/zramfs/zramfs/gpu/ptx"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// constructs are kernels that each show one feature of the builder; testdata has their text.
var constructs = map[string]func(b *ptx.Builder){
	"if": func(b *ptx.Builder) {
		out, lane := b.ParamGlobal("out"), b.LaneID()
		b.If(b.CtaidX().Lt(n(7)), func() { out.Index(lane, 4).StoreU32(lane) })
		b.If(lane.Lt(n(7)).Not(), func() { out.StoreU32(lane) })
	},
	"ifelse": func(b *ptx.Builder) {
		out, lane, v := b.ParamGlobal("out"), b.LaneID(), ptx.NewVar(b, n(0))
		b.IfElse(lane.Lt(n(7)), func() {
			v.Set(lane.Add(n(1)))
		}, func() {
			v.Set(lane)
		})
		out.Index(lane, 4).StoreU32(v.Get())
	},
	"return": func(b *ptx.Builder) {
		out, count := b.ParamGlobal("out"), b.ParamU32("count")
		b.ReturnIf(b.CtaidX().Ge(count))
		b.IfElse(b.WarpID().Eq(n(0)), func() {
			out.StoreU32(n(1))
			b.Return()
		}, func() {
			out.StoreU32(n(2))
		})
		out.At(4).StoreU32(n(3))
	},
	"while": func(b *ptx.Builder) {
		a := ptx.NewVar(b, b.ParamGlobal("list"))
		b.While(func() ptx.Pred { return a.Get().LoadU8().Ne(n(0)) }, func() {
			a.Set(a.Get().Add(ptx.N64(1)))
		})
		a.Get().StoreU8(n(255))
	},
	"repeat": func(b *ptx.Builder) {
		out, x := b.ParamGlobal("out"), ptx.NewUniform(b, b.ParamU32("x"))
		b.Repeat(func() ptx.Pred {
			x.Set(x.Get().Shr(n(1)))
			return x.Get().Gt(n(10))
		})
		out.StoreU32(x.Get())
	},
	"break": func(b *ptx.Builder) {
		out, i := b.ParamGlobal("out"), ptx.NewUniform(b, n(0))
		b.Loop(func() {
			i.Set(i.Get().Add(n(1)))
			b.BreakIf(out.Index(i.Get(), 4).LoadU32().Eq(n(0)))
			b.If(b.Any(b.LaneID().Eq(i.Get())), func() {
				out.StoreU32(i.Get())
				b.Break()
			})
		})
		out.At(4).StoreU32(i.Get())
	},
	// Moves may be merged, but not under another guard, or where a loop begins.
	"tidy": func(b *ptx.Builder) {
		out, p := b.ParamGlobal("out"), b.LaneID().Lt(n(5))
		guarded, looped := ptx.NewVar(b, n(1)), ptx.NewVar(b, n(2))
		x := out.LoadU32()
		b.When(p, func() { guarded.Set(x) })
		y := out.At(4).LoadU32()
		b.Loop(func() {
			looped.Set(y)
			b.If(b.CtaidX().Eq(n(3)), func() { b.Break() })
			b.IfElse(b.CtaidX().Eq(n(4)), func() {
				b.BreakIf(b.CtaidX().Eq(n(5)))
			}, func() {
				out.StoreU32(n(6))
			})
		})
		var four [4]*ptx.Var[ptx.U32]
		for i := range four {
			four[i] = ptx.NewVar(b, n(0))
		}
		for i, v := range out.LoadV4() {
			four[i].Set(v)
		}
		b.While(func() ptx.Pred { return out.LoadU32().Eq(n(0)) }, func() {})
		out.StoreV4([4]ptx.U32{guarded.Get(), looped.Get(), four[0].Get(), four[1].Get()})
		out.StoreU32(four[2].Get())
		out.At(4).StoreU32(four[3].Get())
	},
	"divergent": func(b *ptx.Builder) {
		out, lane, x := b.ParamGlobal("out"), b.LaneID(), ptx.NewVar(b, n(0))
		b.For(n(0), lane, n(1), func(i ptx.U32) {
			b.If(i.And(n(1)).Eq(n(0)), func() { x.Set(x.Get().Add(i)) })
		})
		out.Index(lane, 4).StoreU32(b.ShflIdx(x.Get(), n(31)))
	},
	"when": func(b *ptx.Builder) {
		out, lane, v := b.ParamGlobal("out"), b.LaneID(), ptx.NewVar(b, ptx.False)
		v.Set(lane.Eq(n(3)))
		b.When(v.Get().Not(), func() {
			out.Index(lane, 4).StoreU32(lane)
			v.Set(ptx.True)
			out.Index(lane, 4).At(128).StoreU32(lane)
		})
	},
	"variables": func(b *ptx.Builder) {
		out := b.ParamGlobal("out")
		x, y := ptx.NewVar(b, out.LoadU32()), ptx.NewVar(b, out.At(4).LoadU32())
		old := x.Copy()
		x.Set(y.Get())
		y.Set(old)
		wide := ptx.NewVar(b, ptx.N64(1<<40))
		wide.Set(wide.Get().Mul(wide.Get()))
		sum := x.Get().Add(y.Get()) // used twice: it stays a register of its own
		x.Set(sum)
		out.StoreU32(sum)
		out.At(4).StoreU32(x.Get())
		out.At(8).StoreU64(wide.Get())
	},
	"shared": func(b *ptx.Builder) {
		bytes, words := b.Shared("bytes", 33, 1), b.Shared("words", 64, 16)
		tid, out := b.TidX(), b.ParamGlobal("out")
		a := words.Add(tid.And(n(3)).Shl(n(4)))
		b.When(tid.Lt(n(4)), func() { a.StoreV4([4]ptx.U32{tid, n(1), tid, n(0xffffffff)}) })
		bytes.At(1).Add(b.LaneID()).StoreU8(tid)
		b.BlockSync()
		v := a.LoadV4()
		a.StoreU64(a.LoadU64())
		b.WarpSync()
		out.StoreV4(v)
		out.At(16).StoreU32(a.At(4).Minus(words))
		out.At(20).StoreU16(bytes.LoadU8().Add(a.LoadU16()))
		w := ptx.NewVar(b, words.At(8))
		w.Set(ptx.Select(tid.Eq(n(0)).Not(), words, words.At(4)))
		w.Get().StoreU32(w.Get().LoadU32())
	},
	"global": func(b *ptx.Builder) {
		table, tid := b.ParamGlobal("table"), b.TidX()
		block := table.Index(tid, 8).LoadGlobal()
		aligned := block.AlignDown(16)
		skew := block.Low().And(n(15))
		v := aligned.At(-16).LoadV4()
		aligned.Add(skew.Wide()).StoreU8(v[0])
		aligned.Index(n(3), 16).StoreV4(v)
		aligned.At(8).AlignDown(8).StoreU64(v[1].Pack(v[2]))
		block.StoreU16(block.LoadU16())
	},
	"atomics": func(b *ptx.Builder) {
		cursor, s := b.ParamGlobal("cursor"), b.Shared("s", 64, 16)
		cursor.At(4).StoreU32(s.AtomicOr(s.AtomicAdd(cursor.AtomicAdd(n(16)))))
	},
	"warp": func(b *ptx.Builder) {
		out, lane := b.ParamGlobal("out"), b.LaneID()
		p := lane.And(n(3)).Eq(n(0))
		x := ptx.NewUniform(b, b.ShflIdx(lane, n(5)))
		x.Set(b.Ballot(p.Not()).Popc())
		out.StoreU32(x.Get().Add(b.Ballot(b.All(p).Or(b.Any(p))).And(b.LanemaskLT()).Popc()))
		y := b.ShflBfly(b.ShflUp(lane, n(1)), n(16))
		out.StoreU64(b.ShflBflyU64(y.Wide(), n(1)))
		out.At(8).StoreU32(b.MatchAny(y))
	},
	"volatile": func(b *ptx.Builder) {
		b.MaxRegisters(32)
		out, s := b.ParamGlobal("out"), b.Shared("s", 128, 4).Add(b.LaneID().Shl(n(2)))
		s.StoreU32(b.LaneID())
		x := s.LoadVolatileU32()
		b.MembarCta()
		out.StoreVolatileU32(x)
	},
	"specials": func(b *ptx.Builder) {
		out := b.ParamGlobal("out")
		out.StoreV4([4]ptx.U32{b.TidX(), b.NtidX(), b.CtaidX(), b.NctaidX()})
		out.At(16).StoreV4([4]ptx.U32{b.LaneID(), b.LanemaskLT(), b.WarpID(), b.Warps()})
	},
	"arithmetic": func(b *ptx.Builder) {
		x, y, out := b.ParamU32("x"), b.TidX(), b.ParamGlobal("out")
		all := []ptx.U32{
			x.Add(y), x.Sub(y), n(7).Sub(y), x.Mul(y), x.Mad(y, n(9)), x.Div(y), x.Min(y), x.Max(y),
			x.And(y), x.Or(y), x.Xor(y), x.Shl(y), x.Shr(y), x.FunnelR(y, n(8)),
			x.Popc(), x.Clz(), x.Bfind(), x.Brev(), x.Ctz(), x.Prmt(y, n(0x3210)), x.Bfe(n(4), n(8)),
		}
		for i, v := range all {
			out.At(4 * i).StoreU32(v)
		}
	},
	"arithmetic64": func(b *ptx.Builder) {
		x, y, out := b.CtaidX().Wide(), b.TidX().Wide(), b.ParamGlobal("out")
		low, high := x.Unpack()
		all := []ptx.U64{
			x.Add(y), x.Mul(y), x.And(y), x.Or(y), x.Xor(y), x.Shl(low), x.Shr(high), x.Low().Pack(high),
		}
		for i, v := range all {
			out.At(8 * i).StoreU64(v)
		}
	},
	"comparisons": func(b *ptx.Builder) {
		x, y, out := b.ParamU32("x"), b.TidX(), b.ParamGlobal("out")
		v, w := x.Wide(), y.Wide()
		all := []ptx.Pred{
			x.Eq(y), x.Ne(y), x.Lt(y), x.Le(y), x.Gt(y), x.Ge(y), x.LtS(y), x.GtS(y),
			x.Eq(y).And(x.Lt(n(3)).Not()), x.Eq(y).Or(ptx.True.Not()),
		}
		for i, p := range all {
			out.At(4 * i).StoreU32(ptx.Select(p, x, n(0)))
		}
		out.At(-8).StoreU64(ptx.Select(all[0].Not(), v, w))
	},
}

func build(t *testing.T, name string, construct func(b *ptx.Builder)) *ptx.Kernel {
	t.Helper()
	b := ptx.New(name, 64)
	construct(b)
	k, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestGolden(t *testing.T) {
	for name, construct := range constructs {
		t.Run(name, func(t *testing.T) {
			file, got := filepath.Join("testdata", name+".ptx"), build(t, name+"_construct", construct).PTX()
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the text is not that of %s; go test -update writes it:\n%s", file, got)
			}
		})
	}
}

func TestPtxasTakesGolden(t *testing.T) {
	for name, construct := range constructs {
		k := build(t, name+"_construct", construct)
		for _, target := range ptxas.Targets {
			usage := ptxas.Assemble(t, k.PTX(), target)
			if u, ok := usage[k.Name()]; !ok || u.SpillLoads != 0 || u.SpillStores != 0 || u.Registers <= 0 || u.Registers >= 64 {
				t.Errorf("%s for %s: %+v", name, target, usage)
			}
		}
	}
}
