// SPDX-License-Identifier: Apache-2.0

package ptx

import (
	"errors"
	"fmt"
)

// Verify checks that every instruction has the operands that its opcode asks for: their number,
// their kinds, and their widths to the bit. A kernel from [Builder.Build] passes; one from
// [Kernel.Altered] may not.
func (k *Kernel) Verify() error {
	var all []error
	for i := range k.code {
		if err := k.verify(&k.code[i]); err != nil {
			all = append(all, fmt.Errorf("%s: %s: %w", k.code[i].Line, k.code[i].Op, err))
		}
	}
	return errors.Join(all...)
}

func (k *Kernel) verify(in *Instruction) error {
	sig := in.Op.Signature()
	if sig.Mnemonic == "" {
		return fmt.Errorf("there is no opcode %d", in.Op)
	}
	if in.Guard.Register != NoRegister && k.typeOf(in.Guard.Register) != TypePred {
		return fmt.Errorf("the guard is of type %v", k.typeOf(in.Guard.Register))
	}
	for i, r := range in.Dst {
		if i >= len(sig.Dst) {
			if r != NoRegister {
				return fmt.Errorf("more than %d results", len(sig.Dst))
			}
		} else if t := k.typeOf(r); t.Bits() == 0 || t.Bits() != sig.Dst[i].Bits() {
			return fmt.Errorf("result %d is of type %v, want %v", i+1, t, sig.Dst[i])
		}
	}
	for i, o := range in.Src {
		if i >= len(sig.Src) {
			if o.Kind != OperandNone {
				return fmt.Errorf("more than %d operands", len(sig.Src))
			}
		} else if err := k.fits(o, sig.Src[i]); err != nil {
			return fmt.Errorf("operand %d: %w", i+1, err)
		}
	}
	if sig.Effect == EffectBranch && (in.Target < 0 || in.Target >= len(k.code)) {
		return fmt.Errorf("the target %d is no instruction", in.Target)
	}
	if sig.Effect == EffectBranch && (in.Reconverge < 0 || in.Reconverge > len(k.code)) {
		return fmt.Errorf("its threads meet at %d, which is no instruction", in.Reconverge)
	}
	return nil
}

func (k *Kernel) typeOf(r RegisterID) Type {
	if r < 0 || int(r) >= len(k.registers) {
		return TypeNone
	}
	return k.registers[r].Type
}

// kinds maps the types that only one kind of operand has.
var kinds = map[Type]OperandKind{
	TypeImmediate:     OperandImmediate,
	TypeAddressShared: OperandAddress,
	TypeAddressGlobal: OperandAddress,
	TypeParam:         OperandParam,
	TypeSpecial:       OperandSpecial,
	TypeArray:         OperandArray,
}

// fits returns an error if an operand is not of the wanted type.
func (k *Kernel) fits(o Operand, want Type) error {
	kind, only := kinds[want]
	switch {
	case only && o.Kind != kind:
		return fmt.Errorf("want %v", want)
	case want == TypeAddressShared && k.typeOf(o.Register) != TypeShared32,
		want == TypeAddressGlobal && k.typeOf(o.Register) != TypeGlobal64:
		return fmt.Errorf("the address is of type %v, want %v", k.typeOf(o.Register), want)
	case want == TypeParam && o.Value >= uint64(len(k.params)),
		want == TypeArray && o.Value >= uint64(len(k.shared)),
		want == TypeSpecial && o.Value > uint64(LanemaskLT):
		return fmt.Errorf("there is no %v %d", want, o.Value)
	case only:
		return nil
	case o.Kind == OperandImmediate:
		if bits := want.Bits(); bits < 64 && o.Value>>bits != 0 {
			return fmt.Errorf("the constant %#x does not fit in %v", o.Value, want)
		}
		return nil
	case o.Kind == OperandRegister && k.typeOf(o.Register).Bits() == want.Bits():
		return nil
	}
	return fmt.Errorf("a register of type %v, want %v", k.typeOf(o.Register), want)
}
