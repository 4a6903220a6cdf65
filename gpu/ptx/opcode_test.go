// SPDX-License-Identifier: Apache-2.0

package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/gpu/internal/ptxas"
)

// everyOpcode is a kernel in which each opcode stands with registers for all operands and, for each
// place where Verify lets a constant stand, with a constant there.
func everyOpcode() *Kernel {
	k := &Kernel{
		name: "every_opcode", threads: 64,
		params:      []Param{{"a", TypeU32}, {"b", TypeU64}},
		shared:      []SharedArray{{"array", 0, 1024, 16}},
		sharedBytes: 1024,
	}
	for _, t := range []Type{TypePred, TypeU32, TypeU64, TypeShared32, TypeGlobal64} {
		for range 5 {
			k.registers = append(k.registers, Register{Type: t, Variable: true})
		}
	}
	first := map[Type]RegisterID{TypePred: 0, TypeU32: 5, TypeU64: 10, TypeShared32: 15, TypeGlobal64: 20, TypeAddressShared: 15, TypeAddressGlobal: 20}
	for op := OpNop + 1; op < opcodes; op++ {
		in := instance(op, first)
		k.code = append(k.code, in)
		for i, t := range op.Signature().Src {
			constant := in
			constant.Src[i] = Operand{Kind: OperandImmediate, Value: 1}
			if in.Src[i].Kind == OperandRegister && k.fits(constant.Src[i], t) == nil {
				k.code = append(k.code, constant)
			}
		}
	}
	none := Instruction{Op: OpRet, Guard: Guard{Register: NoRegister}, Dst: [4]RegisterID{NoRegister, NoRegister, NoRegister, NoRegister}}
	k.code = append(k.code, none)
	return k
}

func instance(op Opcode, first map[Type]RegisterID) Instruction {
	in := Instruction{Op: op, Guard: Guard{Register: 4}, Dst: [4]RegisterID{NoRegister, NoRegister, NoRegister, NoRegister}}
	sig := op.Signature()
	for i, t := range sig.Dst {
		in.Dst[i] = first[t] + RegisterID(i)
	}
	for i, t := range sig.Src {
		in.Src[i] = Operand{Kind: OperandRegister, Register: first[t] + RegisterID(i)}
		switch kind, only := kinds[t]; {
		case kind == OperandAddress:
			in.Src[i] = Operand{Kind: OperandAddress, Register: first[t], Offset: 16 * int32(op&1)}
		case only:
			in.Src[i] = Operand{Kind: kind}
		}
	}
	switch op {
	case OpLdParamU64:
		in.Src[0].Value = 1
	case OpBra, OpBraUni:
		in.Target = 2
	case OpShflIdx, OpShflUp, OpShflBfly:
		in.Src[2].Value, in.Src[3].Value = 31, 0xffffffff
	}
	return in
}

func TestEveryOpcodeIsInTheTable(t *testing.T) {
	seen := map[string]Opcode{}
	for op := range opcodes {
		sig := op.Signature()
		if sig.Mnemonic == "" {
			t.Errorf("opcode %d has no row", op)
		}
		if other, ok := seen[sig.Mnemonic+fmt.Sprint(sig.Dst, sig.Src)]; ok {
			t.Errorf("opcodes %d and %d are both %s", other, op, sig.Mnemonic)
		}
		seen[sig.Mnemonic+fmt.Sprint(sig.Dst, sig.Src)] = op
	}
	if got := opcodes.Signature().Mnemonic; got != "" {
		t.Errorf("what is no opcode has the mnemonic %s", got)
	}
}

// The mnemonic of a memory access says its space and size once more; the columns that the simulator
// reads must agree with it.
func TestColumnsAgreeWithMnemonics(t *testing.T) {
	for op := range opcodes {
		sig := op.Signature()
		dotted := sig.Mnemonic + "."
		for _, c := range []struct {
			text string
			want bool
		}{
			{".shared.", sig.Space == SpaceShared},
			{".global.", sig.Space == SpaceGlobal},
			{".v2.", sig.Elements == 2},
			{".v4.", sig.Elements == 4},
			{".relaxed.", sig.Relaxed && sig.Effect != EffectAtomic && !strings.Contains(dotted, ".volatile.")},
			{".sync.", sig.Effect == EffectWarp || sig.Effect == EffectBlock},
		} {
			if strings.Contains(dotted, c.text) != c.want {
				t.Errorf("%s: the table's columns say otherwise than %q", op, c.text)
			}
		}
		if sig.Element > 0 && !strings.Contains(dotted, fmt.Sprintf("%d.", sig.Element*8)) {
			t.Errorf("%s: the table says elements of %d bytes", op, sig.Element)
		}
	}
}

func TestPtxasTakesEveryOpcode(t *testing.T) {
	k := everyOpcode()
	if err := k.Verify(); err != nil {
		t.Fatal(err)
	}
	for _, target := range ptxas.Targets {
		ptxas.Assemble(t, k.PTX(), target)
	}
}
