// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// operands are what an instruction of the tables below may read.
type operands struct {
	b          *ptx.Builder
	in         ptx.Global64
	x, y, z, u ptx.U32
	X, Y, Z    ptx.U64
	p, q       ptx.Pred
}

// values are the same in one lane.
type values struct {
	x, y, z, u uint32
	X, Y, Z    uint64
	p, q       bool
}

// opcode is an instruction and what it computes, said as differently from the
// simulator as possible.
type opcode struct {
	op   ptx.Opcode
	make func(o operands) any // U32, U64 or Pred
	want func(v values) uint64
}

func num(v uint64) *big.Int { return new(big.Int).SetUint64(v) }

// cut is the lowest bits of v, which may be negative.
func cut(v *big.Int, width uint) uint64 {
	mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), width), big.NewInt(1))
	return new(big.Int).And(v, mask).Uint64()
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// bit is bit i of v, 0 beyond its width.
func bit(v uint64, i int) uint64 {
	if i < 0 || i > 63 {
		return 0
	}
	return v >> i & 1
}

// byBit puts a value together from its bits.
func byBit(width int, f func(i int) uint64) uint64 {
	var v uint64
	for i := range width {
		v |= f(i) & 1 << i
	}
	return v
}

func count(width int, v uint64) (n uint64) {
	for i := range width {
		n += bit(v, i)
	}
	return n
}

// highest is the number of the highest bit that is set, -1 if none is.
func highest(width int, v uint64) int {
	for i := width - 1; i >= 0; i-- {
		if bit(v, i) != 0 {
			return i
		}
	}
	return -1
}

func prmt(a, b, c uint32) uint64 {
	var from [8]byte
	binary.LittleEndian.PutUint32(from[:], a)
	binary.LittleEndian.PutUint32(from[4:], b)
	var to [4]byte
	for i := range to {
		sel := c / []uint32{1, 16, 256, 4096}[i] % 16
		to[i] = from[sel%8]
		if sel >= 8 {
			to[i] = []byte{0, 0xff}[from[sel%8]/128]
		}
	}
	return uint64(binary.LittleEndian.Uint32(to[:]))
}

// funnel is 32 bits of high:low from bit n on.
func funnel(high, low uint32, n int) uint64 {
	both := num(uint64(high)<<32 | uint64(low))
	return cut(both.Rsh(both, uint(n)), 32)
}

// edges are operands at which instructions go wrong.
var edges = []uint64{0, 1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7f, 0x80, 0x7654, 0x3210, 0xfedc, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
	1 << 32, 1<<32 + 31, 1<<63 - 1, 1 << 63, 1<<64 - 1}

func pick(r *rand.Rand) uint64 {
	if r.IntN(2) == 0 {
		return edges[r.IntN(len(edges))]
	}
	return r.Uint64() >> r.IntN(64)
}

const opcodeThreads, opcodeBlocks, recordSize = 64, 12, 64

func (o *opcode) kernel(t *testing.T) *ptx.Kernel {
	k := build(t, opcodeThreads, func(b *ptx.Builder) {
		in, out := b.ParamGlobal("in"), b.ParamGlobal("out")
		i := b.CtaidX().Mad(b.NtidX(), b.TidX())
		record := in.Index(i, recordSize)
		w := record.LoadV4()
		flags := record.At(48).LoadU32()
		result := o.make(operands{b, in, w[0], w[1], w[2], w[3], record.At(16).LoadU64(), record.At(24).LoadU64(), record.At(32).LoadU64(),
			flags.And(n(1)).Ne(n(0)), flags.And(n(2)).Ne(n(0))})
		switch v := result.(type) {
		case ptx.U32:
			out.Index(i, 8).StoreU64(v.Wide())
		case ptx.U64:
			out.Index(i, 8).StoreU64(v)
		case ptx.Pred:
			out.Index(i, 8).StoreU64(ptx.Select(v, n(1), n(0)).Wide())
		}
	})
	if !slices.ContainsFunc(k.Instructions(), func(in ptx.Instruction) bool { return in.Op == o.op }) {
		t.Fatalf("the kernel lacks %v:\n%s", o.op, k.PTX())
	}
	return k
}

func TestOpcodes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const lanes = opcodeThreads * opcodeBlocks
	records, all := make([]byte, lanes*recordSize), make([]values, lanes)
	for i := range all {
		v := values{uint32(pick(r)), uint32(pick(r)), uint32(pick(r)), uint32(pick(r)), pick(r), pick(r), pick(r), r.IntN(2) == 0, r.IntN(2) == 0}
		if r.IntN(8) == 0 {
			v.y, v.Y = v.x, v.X
		}
		all[i] = v
		b := records[i*recordSize:]
		copy(b, words(v.x, v.y, v.z, v.u, uint32(v.X), uint32(v.X>>32), uint32(v.Y), uint32(v.Y>>32), uint32(v.Z), uint32(v.Z>>32)))
		binary.LittleEndian.PutUint32(b[48:], uint32(truth(v.p)+2*truth(v.q)))
	}
	for _, o := range slices.Concat(opcodes32, opcodes64, comparisons) {
		t.Run(o.op.String(), func(t *testing.T) {
			for i, k := range o.aliases(o.kernel(t)) {
				for seed := range uint64(2) {
					d := newDevice()
					d.Seed = seed
					in := alloc(t, d, sim.Spec{Name: "in", Access: sim.ReadOnly}, records)
					out := alloc(t, d, sim.Spec{Name: "out", Size: 8 * lanes}, nil)
					if _, err := d.Launch(k, opcodeBlocks, opcodeThreads, in, out); err != nil {
						t.Fatal(err)
					}
					o.check(t, read(t, d, out, 8*lanes), all, i)
				}
			}
		})
	}
}

func (o *opcode) check(t *testing.T, got []byte, all []values, kernel int) {
	t.Helper()
	for i, v := range all {
		if g, w := binary.LittleEndian.Uint64(got[8*i:]), o.want(v); g != w {
			t.Fatalf("kernel %d: %v of %+v: got %#x, want %#x", kernel, o.op, v, g, w)
		}
	}
}

// aliases are the kernel, and those in which the instruction's result goes to
// the register of one of its operands instead.
func (o *opcode) aliases(k *ptx.Kernel) []*ptx.Kernel {
	all := []*ptx.Kernel{k}
	if slices.Contains([]ptx.Opcode{ptx.OpMovU32, ptx.OpMovU64, ptx.OpMovPred, ptx.OpMadWideU32}, o.op) {
		return all // the kernel has it for other things too
	}
	code, at := k.Instructions(), 0
	for i := range code {
		if code[i].Op == o.op {
			at = i
		}
	}
	from := code[at].Dst[0]
	for i, to := range code[at].Src {
		if to.Kind != ptx.OperandRegister || k.Registers()[to.Register].Type != k.Registers()[from].Type || code[at].Guard.Register >= 0 {
			continue
		}
		altered := k.Altered(func(code []ptx.Instruction) {
			code[at].Dst[0] = code[at].Src[i].Register
			for j := range code[at+1:] {
				for n := range code[at+1+j].Src {
					if src := &code[at+1+j].Src[n]; src.Kind == ptx.OperandRegister && src.Register == from {
						src.Register = to.Register
					}
				}
			}
		})
		all = append(all, altered)
	}
	return all
}

// TestEveryOpcodeRuns says which opcodes no test above or below names.
func TestEveryOpcodeRuns(t *testing.T) {
	tested := map[ptx.Opcode]bool{}
	for _, o := range slices.Concat(opcodes32, opcodes64, comparisons) {
		tested[o.op] = true
	}
	for op := ptx.OpNop; op.Signature().Mnemonic != ""; op++ {
		sig := op.Signature()
		if !tested[op] && sig.Effect == ptx.EffectNone && sig.Space == ptx.SpaceNone && !slices.Contains(moves, op) {
			t.Errorf("%v is not tested", op)
		}
	}
}

// moves are in every kernel.
var moves = []ptx.Opcode{ptx.OpNop, ptx.OpLdParamU32, ptx.OpLdParamU64, ptx.OpMovSpecial, ptx.OpMovArray}
