// SPDX-License-Identifier: Apache-2.0

package ptx

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/gpu/internal/ptxas"
)

// sample is a kernel with an instruction of each shape: 0 reads a parameter, 1 an array's address,
// 2 a special register; 3 widens, 4 adds 32 bits and 5 adds 64, 6 compares, 7 loads, 8 stores under
// a guard, 9 branches.
func sample(t *testing.T) *Kernel {
	t.Helper()
	b := New("sample", 32)
	b.ParamU32("count")
	array, lane := b.Shared("array", 64, 8), b.LaneID()
	wide := lane.Wide()
	sum, wider := lane.Add(lane), wide.Add(wide)
	p := sum.Lt(N(7))
	loaded := array.LoadU32()
	b.When(p, func() { array.StoreU64(wider) })
	b.If(p, func() { array.At(8).StoreU32(loaded) })
	k, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const (
	sampleArray = 1
	sampleLane  = 2
	sampleAdd   = 4
	sampleAdd64 = 5
	sampleSetp  = 6
	sampleLoad  = 7
	sampleStore = 8
	sampleBra   = 9
)

// alterations are faults that Verify must find; those which are also faults of the text, ptxas must
// find too.
var alterations = map[string]struct {
	alter func(code []Instruction)
	want  string
	text  bool
}{
	"no opcode": {func(code []Instruction) { code[sampleAdd].Op = opcodes }, "there is no opcode", false},
	// A kernel that ptxas did not take had such an addition; see docs/gpu.md.
	"32-bit register in a 64-bit addition": {func(code []Instruction) {
		code[sampleAdd64].Src[1].Register = code[sampleLane].Dst[0]
	}, "operand 2: a register of type u32, want u64", true},
	"64-bit register in a 32-bit addition": {func(code []Instruction) {
		code[sampleAdd].Src[0].Register = code[sampleAdd64].Dst[0]
	}, "operand 1: a register of type u64, want u32", true},
	"64-bit result in a 32-bit register": {func(code []Instruction) {
		code[sampleAdd64].Dst[0] = code[sampleAdd].Dst[0]
	}, "result 1 is of type u32, want u64", true},
	"condition for a number": {func(code []Instruction) {
		code[sampleAdd].Src[0].Register = code[sampleSetp].Dst[0]
	}, "operand 1: a register of type pred, want u32", true},
	"number for a guard": {func(code []Instruction) {
		code[sampleStore].Guard.Register = code[sampleAdd].Dst[0]
	}, "the guard is of type u32", true},
	// ptxas accepts such addresses; that they mean what the author meant is what the types are for.
	"number for an address": {func(code []Instruction) {
		code[sampleLoad].Src[0].Register = code[sampleAdd].Dst[0]
	}, "operand 1: the address is of type u32, want [shared32]", false},
	"address without an offset's form": {func(code []Instruction) {
		code[sampleLoad].Src[0].Kind = OperandRegister
	}, "operand 1: want [shared32]", false},
	"constant for an address": {func(code []Instruction) {
		code[sampleLoad].Src[0] = Operand{Kind: OperandImmediate}
	}, "operand 1: want [shared32]", false},
	"constant that does not fit": {func(code []Instruction) {
		code[sampleSetp].Src[1].Value = 1 << 32
	}, "operand 2: the constant 0x100000000 does not fit in u32", false},
	"no such parameter": {func(code []Instruction) { code[0].Src[0].Value = 1 }, "operand 1: there is no parameter 1", false},
	"no such array":     {func(code []Instruction) { code[sampleArray].Src[0].Value = 1 }, "there is no shared array 1", false},
	"no such special register": {func(code []Instruction) {
		code[sampleLane].Src[0].Value = uint64(LanemaskLT) + 1
	}, "there is no special register", false},
	"operand missing": {func(code []Instruction) { code[sampleAdd].Src[1] = Operand{} }, "operand 2: a register", false},
	"operand too many": {func(code []Instruction) {
		code[sampleAdd].Src[2] = code[sampleAdd].Src[1]
	}, "more than 2 operands", false},
	"result missing":        {func(code []Instruction) { code[sampleAdd].Dst[0] = NoRegister }, "result 1 is of type none", false},
	"result too many":       {func(code []Instruction) { code[sampleAdd].Dst[1] = code[sampleAdd].Dst[0] }, "more than 1 results", false},
	"no such register":      {func(code []Instruction) { code[sampleAdd].Dst[0] = 1000 }, "result 1 is of type none", false},
	"target outside":        {func(code []Instruction) { code[sampleBra].Target = 12 }, "the target 12 is no instruction", false},
	"target before":         {func(code []Instruction) { code[sampleBra].Target = -1 }, "the target -1 is no instruction", false},
	"meeting place outside": {func(code []Instruction) { code[sampleBra].Reconverge = 13 }, "meet at 13", false},
}

func TestVerify(t *testing.T) {
	k := sample(t)
	if err := k.Verify(); err != nil {
		t.Fatal(err)
	}
	if n := len(k.Instructions()); n != 12 {
		t.Fatalf("the sample has %d instructions:\n%s", n, k.PTX())
	}
	for name, c := range alterations {
		t.Run(name, func(t *testing.T) {
			altered := k.Altered(c.alter)
			err := altered.Verify()
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "verify_test.go:") {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if err := k.Verify(); err != nil {
				t.Errorf("the kernel itself was altered: %v", err)
			}
		})
	}
}

func TestPtxasRefusesWhatVerifyRefuses(t *testing.T) {
	k := sample(t)
	ptxas.Assemble(t, k.PTX(), "sm_70")
	for name, c := range alterations {
		if !c.text {
			continue
		}
		if _, err := ptxas.Try(t, k.Altered(c.alter).PTX(), "sm_70"); err == nil {
			t.Errorf("%s: ptxas takes it", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

// An instruction that was taken out leaves no line behind.
func TestNopIsNotPrinted(t *testing.T) {
	k := sample(t)
	with := strings.Count(k.PTX(), "\n")
	without := k.Altered(func(code []Instruction) {
		nop := &code[sampleStore]
		*nop = Instruction{Guard: nop.Guard, Dst: nop.Dst, Line: nop.Line}
	})
	if err := without.Verify(); err != nil {
		t.Error(err)
	}
	if got := strings.Count(without.PTX(), "\n"); got != with-1 {
		t.Errorf("%d lines, want %d:\n%s", got, with-1, without.PTX())
	}
	ptxas.Assemble(t, without.PTX(), "sm_70")
}

// Nothing that a kernel hands out leads back into it.
func TestKernelDoesNotChange(t *testing.T) {
	k := sample(t)
	before := k.PTX()
	k.Instructions()[sampleAdd].Op = OpSubU32
	k.Registers()[0].Type = TypePred
	k.Params()[0].Name = "other"
	k.Shared()[0].Size = 1
	if got := k.PTX(); got != before {
		t.Errorf("the kernel is now\n%s", got)
	}
	if k.Name() != "sample" || k.Threads() != 32 || k.SharedBytes() != 64 {
		t.Errorf("the kernel is %s of %d threads with %d bytes", k.Name(), k.Threads(), k.SharedBytes())
	}
}
