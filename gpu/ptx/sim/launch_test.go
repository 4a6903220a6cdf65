// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

func TestLaunchesThatDoNotFit(t *testing.T) {
	k := build(t, 64, func(b *ptx.Builder) { b.ParamU32("n").Add(b.LaneID()); b.ParamGlobal("m") })
	d := newDevice()
	for name, c := range map[string]struct {
		grid, block int
		args        []uint64
		want        string
	}{
		"no block":           {0, 64, []uint64{1, 2}, "0 blocks"},
		"too many blocks":    {1 << 24, 64, []uint64{1, 2}, "blocks"},
		"other block":        {1, 128, []uint64{1, 2}, "128 threads a block, want 64"},
		"argument missing":   {1, 64, []uint64{1}, "1 arguments, want 2"},
		"argument too many":  {1, 64, []uint64{1, 2, 3}, "3 arguments, want 2"},
		"argument too large": {1, 64, []uint64{1 << 32, 2}, "argument n is 0x100000000"},
	} {
		if _, err := d.Launch(k, c.grid, c.block, c.args...); !errors.Is(err, sim.ErrBadLaunch) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.Launch(k, 1, 64, 1<<32-1, 1<<63); err != nil {
		t.Error(err)
	}
}

// An operand of the wrong width never runs, nor does a pointer of one space in an instruction of
// the other.
func TestKernelsThatDoNotFit(t *testing.T) {
	k := build(t, 32, func(b *ptx.Builder) {
		a := b.Shared("a", 128, 4).Add(b.LaneID().Shl(n(2)))
		b.ParamGlobal("in").Add(ptx.N64(8)).LoadU32()
		a.StoreU32(n(1))
	})
	registerOf := func(code []ptx.Instruction, op ptx.Opcode) ptx.RegisterID {
		for i := range code {
			if code[i].Op == op {
				return code[i].Dst[0]
			}
		}
		return ptx.NoRegister
	}
	for name, alter := range map[string]func(code []ptx.Instruction){
		"a register of 32 bits in add.u64": func(code []ptx.Instruction) {
			each(ptx.OpAddU64, func(in *ptx.Instruction) {
				in.Src[1] = ptx.Operand{Kind: ptx.OperandRegister, Register: registerOf(code, ptx.OpShlB32)}
			})(code)
		},
		"a shared address in ld.global": func(code []ptx.Instruction) {
			each(ptx.OpLdGlobalU32, func(in *ptx.Instruction) { in.Src[0].Register = registerOf(code, ptx.OpMovArray) })(code)
		},
		"a global address in st.shared": func(code []ptx.Instruction) {
			each(ptx.OpStSharedU32, func(in *ptx.Instruction) { in.Src[0].Register = registerOf(code, ptx.OpAddU64) })(code)
		},
		"no return": each(ptx.OpRet, func(in *ptx.Instruction) { in.Op = ptx.OpNop }),
		"an opcode that there is not": each(ptx.OpAddU64, func(in *ptx.Instruction) {
			in.Op = 255
		}),
		"a meeting nowhere": each(ptx.OpRet, func(in *ptx.Instruction) {}),
	} {
		altered := k.Altered(alter)
		if name == "a meeting nowhere" {
			altered = badMeeting(t)
		}
		if _, err := newDevice().Launch(altered, 1, 32, make([]uint64, len(altered.Params()))...); !errors.Is(err, sim.ErrBadKernel) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func badMeeting(t *testing.T) *ptx.Kernel {
	k := build(t, 32, func(b *ptx.Builder) { b.If(b.LaneID().Eq(n(3)), func() { b.LaneID() }) })
	return k.Altered(each(ptx.OpBra, func(in *ptx.Instruction) { in.Reconverge = 1000 }))
}

// The same is computed and counted, however many blocks run at a time.
func TestWorkersDoNotMatter(t *testing.T) {
	k := sumKernel(t)
	var first sim.Stats
	var sums []byte
	for workers := range 5 {
		d := newDevice()
		d.Workers = workers
		rows := alloc(t, d, sim.Spec{Name: "rows"}, bytes.Repeat([]byte{1, 2, 3, 4, 5}, 50*4096/5))
		out := alloc(t, d, sim.Spec{Name: "sums", Size: 200}, nil)
		stats, err := d.Launch(k, 13, 128, rows, out, 50)
		if err != nil {
			t.Fatal(err)
		}
		got := read(t, d, out, 200)
		if workers == 0 {
			first, sums = stats, got
		}
		if !reflect.DeepEqual(stats, first) || !bytes.Equal(got, sums) {
			t.Errorf("%d workers: %+v, want %+v", workers, stats, first)
		}
	}
}

// Of the blocks that fault, the first is told of.
func TestFirstFault(t *testing.T) {
	k := build(t, 32, func(b *ptx.Builder) {
		in := b.ParamGlobal("in")
		block := b.CtaidX()
		b.If(block.Ge(n(38)), func() { b.For(n(0), n(300), n(1), func(ptx.U32) {}) })
		b.If(block.Ge(n(37)), func() { in.At(-8).LoadU32() })
		in.LoadU32()
	})
	for range 20 {
		d := newDevice()
		in := alloc(t, d, sim.Spec{Name: "in"}, make([]byte, 8))
		stats, err := d.Launch(k, 1000, 32, in)
		var f *sim.Fault
		if !errors.As(err, &f) || f.Block != 37 || f.Kernel != "kernel" || f.Op != "ld.global.u32" {
			t.Errorf("%v", err)
		}
		if stats.Blocks > 200 {
			t.Errorf("%d blocks ran after all", stats.Blocks)
		}
	}
}

// One kernel is launched by many goroutines, on buffers that come and go.
func TestLaunchesSideBySide(t *testing.T) {
	d, k := newDevice(), sumKernel(t)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 10 {
				rows, _ := d.Memory.Alloc(sim.Spec{Name: "rows", Size: 4096})
				out, _ := d.Memory.Alloc(sim.Spec{Name: "sum", Size: 4})
				v := byte(g*10 + i)
				err := d.Memory.Fill(rows, v, 4096)
				_, launch := d.Launch(k, 1, 128, rows, out, 1)
				got := make([]byte, 4)
				err = errors.Join(err, launch, d.Memory.CopyOut(got, out), d.Memory.Free(rows), d.Memory.Free(out))
				if want := words(uint32(v) * 0x01010101 * 1024); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%v: %x, want %x", err, got, want)
				}
			}
		})
	}
	group.Wait()
	if leaks := d.Memory.Leaks(); len(leaks) != 0 {
		t.Error(leaks)
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := newDevice()
	in := alloc(t, d, sim.Spec{Name: "in"}, make([]byte, 8))
	if stats, err := d.LaunchContext(ctx, readKernel(t), 1000, 32, in); !errors.Is(err, context.Canceled) || stats.Blocks != 0 {
		t.Errorf("%d blocks, %v", stats.Blocks, err)
	}
}

// A buffer may be freed while a kernel reads it, which then faults.
func TestFreeDuringLaunch(t *testing.T) {
	k := build(t, 32, func(b *ptx.Builder) {
		in, zero := b.ParamGlobal("in"), b.ParamU32("zero")
		b.While(func() ptx.Pred { return zero.Eq(n(0)) }, func() { in.LoadU32() })
	})
	d := newDevice()
	d.StepLimit = 1 << 24
	in := alloc(t, d, sim.Spec{Name: "in"}, make([]byte, 8))
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := d.Launch(k, 2, 32, in, 0); !errors.Is(err, sim.ErrUseAfterFree) {
			t.Error(err)
		}
	})
	time.Sleep(time.Millisecond)
	if err := d.Memory.Free(in); err != nil {
		t.Error(err)
	}
	group.Wait()
}

// Launches come one after the other: what one wrote, another may write in another order.
func TestLaunchesAreOrdered(t *testing.T) {
	k := build(t, 32, func(b *ptx.Builder) {
		first, second, third := b.ParamGlobal("first"), b.ParamGlobal("second"), b.ParamGlobal("third")
		for i, out := range []ptx.Global64{first, second, third} {
			b.When(b.LaneID().Eq(n(uint32(i))), func() { out.StoreU32(b.CtaidX()) })
		}
	})
	d := newDevice()
	d.Workers = 1
	var buffers []uint64
	for range 5 {
		buffers = append(buffers, alloc(t, d, sim.Spec{Name: "out", Size: 4}, nil))
	}
	for i := range 200 {
		if _, err := d.Launch(k, 1, 32, buffers[i%5], buffers[(i+1)%5], buffers[(i+i/5%3+2)%5]); err != nil {
			t.Fatal(err)
		}
	}
}

// A race is seen anywhere in a large buffer.
func TestRacesFarIntoABuffer(t *testing.T) {
	d := newDevice()
	const size = 100 << 20
	out := alloc(t, d, sim.Spec{Name: "out", Size: size}, nil)
	for _, offset := range []uint64{0, 4092, 4096, 2<<20 - 4, 2 << 20, 64<<20 + 12, size - 4} {
		if _, err := d.Launch(writeKernel(t), 1, 32, out+offset); err != nil {
			t.Error(err)
		}
		if _, err := d.Launch(writeKernel(t), 2, 32, out+offset); !errors.Is(err, sim.ErrRace) {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
}
