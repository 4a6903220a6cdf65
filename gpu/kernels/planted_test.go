// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
	"github.com/zramfs/zramfs/internal/pages"
)

// A trial runs a kernel on a little of everything and returns what is wrong.
type trial func(t *testing.T, k *ptx.Kernel) error

// eachTrial calls do for the three kernels that the others are variants of.
func eachTrial(t *testing.T, do func(t *testing.T, k *ptx.Kernel, try trial)) {
	hostile := map[string][][]byte{"lz4": hostileLZ4(), "page": hostilePage()}
	eachFormat(t, func(t *testing.T, f format) {
		rng := rand.New(rand.NewPCG(31, 32))
		objects, _ := f.objects(t, pages.Mix(24, 12))
		whole := len(objects)
		for i := range 60 {
			objects = append(objects, damage(rng, objects[i%whole]))
		}
		rng.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		all := append(hostile[f.name][:60], spread(hostile[f.name][60:], 600)...)
		all = append(all, objects...)
		do(t, build(t, f.decompress), func(t *testing.T, k *ptx.Kernel) error {
			_, err := f.judge(t, k, 0, all)
			return err
		})
	})
	t.Run("compress", func(t *testing.T) {
		all := append(pages.Mix(24, 12), spread(hardPages(), 60)...)
		do(t, build(t, LZ4Compress), func(t *testing.T, k *ptx.Kernel) error {
			return tryCompress(t, k, all)
		})
	})
}

// tryCompress also tries limits and an arena that is too small.
func tryCompress(t *testing.T, k *ptx.Kernel, all [][]byte) error {
	for _, try := range []struct{ granules, limit int }{{256 * len(all), PageSize}, {256 * len(all), 1900}, {700, PageSize}} {
		c, err := newDevice(t).tryCompress(k, all, try.granules, try.limit)
		if err == nil {
			err = c.judge(all, min(try.limit, PageSize-1))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// The kernels pass their trials: or what follows would prove nothing.
func TestTrialsPass(t *testing.T) {
	eachTrial(t, func(t *testing.T, k *ptx.Kernel, try trial) {
		if err := try(t, k); err != nil {
			t.Error(err)
		}
	})
}

// without is the kernel less one instruction, or less its guard.
func without(k *ptx.Kernel, i int, guardOnly bool) *ptx.Kernel {
	return k.Altered(func(code []ptx.Instruction) {
		if guardOnly {
			code[i].Guard.Register = ptx.NoRegister
			return
		}
		code[i] = ptx.Instruction{Op: ptx.OpNop, Guard: ptx.Guard{Register: ptx.NoRegister}, Line: code[i].Line,
			Dst: [4]ptx.RegisterID{ptx.NoRegister, ptx.NoRegister, ptx.NoRegister, ptx.NoRegister}}
	})
}

// harmless lists lines with code that can be removed without harm, and why.
var harmless = map[string]string{
	"to.At(begin + i*rowBytes).StoreV4(quad":    "rows that were not loaded would be zeros where nothing is yet",
	"w.If(quads.Gt(n(lanes*stageFirst))":        "saves time only",
	"d.IfElse(rare, func() { d.anySequence":     "short sequences are done well by what does all",
	"d.Break() // it would stay endless":        "what is added to endless is too long as well",
	"d.Break() // the status is known":          "the checks of a match would end the loop too",
	"d.When(active, func() { at.AtomicOr":       "lanes without a token mark what is behind the last",
	"d.If(nears.Ne(n(0))":                       "saves time only",
	"d.If(fars.Ne(n(0))":                        "saves time only",
	"d.If(d.Any(unsettled)":                     "saves time only",
	"w.If(last.Or(e.count.Get().Gt(n(queueFull": "writing earlier changes nothing",
}

// survivors counts, by line, removals without an effect, except for those of harmless lines.
func survivors(t *testing.T, k *ptx.Kernel, try trial, tried func(in ptx.Instruction) bool, guardOnly bool) {
	t.Helper()
	tries := 0
	for i, in := range k.Instructions() {
		if !tried(in) {
			continue
		}
		if tries++; testing.Short() && tries%20 > 0 {
			continue
		}
		line := sourceLine(t, in.Line)
		known := slices.ContainsFunc(slices.Collect(maps.Keys(harmless)), func(part string) bool { return strings.Contains(line, part) })
		if err := try(t, without(k, i, guardOnly)); err == nil && !known {
			t.Errorf("%v: %v: taken away, and nothing is wrong: %s", in.Line, in.Op, line)
		}
	}
	if tries < 4 {
		t.Errorf("%d tries", tries)
	}
}

// sourceLine is the text of a line of this package.
func sourceLine(t *testing.T, at ptx.Position) string {
	t.Helper()
	text, err := os.ReadFile(at.File)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.Split(string(text), "\n")[at.Line-1])
}

// Without any one of the barriers there is a race, or what has not been written yet is read.
func TestEveryBarrierIsNeeded(t *testing.T) {
	eachTrial(t, func(t *testing.T, k *ptx.Kernel, try trial) {
		survivors(t, k, func(t *testing.T, k *ptx.Kernel) error {
			err := try(t, k)
			if !errors.Is(err, sim.ErrRace) && !errors.Is(err, sim.ErrUninitialised) {
				t.Errorf("want a race: %v", err)
			}
			return err
		}, func(in ptx.Instruction) bool { return in.Op == ptx.OpBarWarpSync || in.Op == ptx.OpBarSync }, false)
	})
}

// Without any one store, something is wrong.
func TestEveryStoreIsNeeded(t *testing.T) {
	eachTrial(t, func(t *testing.T, k *ptx.Kernel, try trial) {
		survivors(t, k, try, func(in ptx.Instruction) bool {
			effect := in.Op.Signature().Effect
			return effect == ptx.EffectStore || effect == ptx.EffectAtomic
		}, false)
	})
}

// Where only some lanes store, load from global memory or set a variable, something is wrong if all
// do.
func TestEveryGuardIsNeeded(t *testing.T) {
	eachTrial(t, func(t *testing.T, k *ptx.Kernel, try trial) {
		registers := k.Registers()
		survivors(t, k, try, func(in ptx.Instruction) bool {
			s := in.Op.Signature()
			sets := in.Dst[0] != ptx.NoRegister && registers[in.Dst[0]].Variable && s.Space != ptx.SpaceShared
			return in.Guard.Register != ptx.NoRegister && (s.Effect == ptx.EffectStore || s.Effect == ptx.EffectAtomic || s.Space == ptx.SpaceGlobal || sets)
		}, true)
	})
}

// Without any one branch something is wrong: each check that refuses an object is among them.
func TestEveryBranchIsNeeded(t *testing.T) {
	eachTrial(t, func(t *testing.T, k *ptx.Kernel, try trial) {
		survivors(t, k, try, func(in ptx.Instruction) bool { return in.Op.Signature().Effect == ptx.EffectBranch }, false)
	})
}

// altered is the kernel with the first instruction of an opcode, and perhaps with a constant,
// changed.
func altered(t *testing.T, k *ptx.Kernel, op ptx.Opcode, constant uint64, change func(in *ptx.Instruction)) *ptx.Kernel {
	t.Helper()
	return k.Altered(func(code []ptx.Instruction) {
		i := slices.IndexFunc(code, func(in ptx.Instruction) bool {
			return in.Op == op && (constant == 0 || slices.ContainsFunc(in.Src[:], func(o ptx.Operand) bool {
				return o.Kind == ptx.OperandImmediate && o.Value == constant
			}))
		})
		if i < 0 {
			t.Fatalf("no %v with %d", op, constant)
		}
		change(&code[i])
	})
}

// withOffset is altered of the first access to an address with an offset.
func withOffset(k *ptx.Kernel, op ptx.Opcode, offset int32, change func(in *ptx.Instruction)) *ptx.Kernel {
	return k.Altered(func(code []ptx.Instruction) {
		change(&code[slices.IndexFunc(code, func(in ptx.Instruction) bool { return in.Op == op && in.Src[0].Offset == offset })])
	})
}

// Faults as people make them.
func TestPlantedFaults(t *testing.T) {
	decompress := build(t, LZ4Decompress)
	become := func(op ptx.Opcode) func(in *ptx.Instruction) {
		return func(in *ptx.Instruction) { in.Op = op }
	}
	constant := func(n uint64) func(in *ptx.Instruction) {
		return func(in *ptx.Instruction) { in.Src[1].Value = n }
	}
	offset := func(n int32) func(in *ptx.Instruction) {
		return func(in *ptx.Instruction) { in.Src[0].Offset += n }
	}
	for name, fault := range map[string]struct {
		kernel *ptx.Kernel
		kind   error
	}{
		"warps overlap":            {altered(t, decompress, ptx.OpMulLoU32, lz4WarpBytes, constant(lz4WarpBytes-PageSize)), sim.ErrRace},
		"warps too far apart":      {altered(t, decompress, ptx.OpMulLoU32, lz4WarpBytes, constant(lz4WarpBytes+PageSize)), sim.ErrOutOfBounds},
		"no zeros behind":          {altered(t, decompress, ptx.OpStSharedU32, 0, func(in *ptx.Instruction) { in.Src[0].Offset += 4 }), sim.ErrUninitialised},
		"word at a byte":           {withOffset(decompress, ptx.OpLdSharedU8, 1, become(ptx.OpLdSharedU32)), sim.ErrMisaligned},
		"word not aligned":         {altered(t, decompress, ptx.OpAndB32, 0xfffffffc, constant(0xffffffff)), sim.ErrMisaligned},
		"object not aligned":       {altered(t, decompress, ptx.OpAndB64, ^uint64(31), constant(^uint64(0))), sim.ErrMisaligned},
		"page a row too far":       {altered(t, decompress, ptx.OpStGlobalV4U32, 0, offset(8*rowBytes)), sim.ErrOutOfBounds},
		"page a quad too far":      {altered(t, decompress, ptx.OpStGlobalV4U32, 0, offset(16)), sim.ErrRace},
		"statuses of eight bytes":  {altered(t, decompress, ptx.OpMadWideU32, 8, constant(16)), sim.ErrOutOfBounds},
		"pages beyond the last":    {altered(t, decompress, ptx.OpSetpLtU32, 0, become(ptx.OpSetpLeU32)), sim.ErrOutOfBounds},
		"one warp does not return": {altered(t, decompress, ptx.OpAddU32, 32, constant(0)), sim.ErrStepLimit},
	} {
		t.Run(name, func(t *testing.T) {
			f := formats[0]
			objects, _ := f.objects(t, pages.Mix(60, 12))
			if _, err := f.judge(t, fault.kernel, 0, objects); !errors.Is(err, fault.kind) {
				t.Errorf("%v, want %v", err, fault.kind)
			}
		})
	}
}

// A kernel in which widths do not fit, like the one that the specification has printed, is refused
// before it runs.
func TestWrongWidthIsRefused(t *testing.T) {
	wrong := altered(t, build(t, LZ4Decompress), ptx.OpAddU32, 0, func(in *ptx.Instruction) { in.Op = ptx.OpAddU64 })
	if err := wrong.Verify(); err == nil {
		t.Error("an addition of 64 bits of registers of 32 was not refused")
	}
}
