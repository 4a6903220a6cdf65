// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// runFunc executes an instruction in the lanes of m, which is not empty.
type runFunc func(w *warp, in *instr, m uint32)

// kind is how the scheduler treats an instruction.
type kind uint8

const (
	plain kind = iota
	branch
	ret
	warpSync  // needs the whole warp at once
	blockSync // needs the whole block
)

// instr is a prepared instruction: operands are indices into the files of registers, and constants
// are registers that no instruction writes.
type instr struct {
	run        runFunc
	row        rowFunc
	wide       wideFunc
	compare    func(a, b *row) uint32
	combine    func(a, b uint32) uint32
	dst        [4]int32
	src        [5]int32
	offset     int32  // of an address
	immediate  uint32 // member mask or barrier number
	control    uint32 // clamp and segments of a shuffle
	guard      int32  // a predicate's index, or -1
	negate     uint32 // all ones: where the guard does not hold
	kind       kind
	class      Class
	uniform    bool // the warp comes here whole
	agreed     bool // a branch whose lanes agree
	target     int32
	reconverge int32
	access     access
	reads      []int32 // numbers of the kernel's registers
	writes     []written
}

// written is a register that an instruction writes.
type written struct {
	id      int32
	file    int32 // index in its file
	bits    int
	uniform bool
}

// program is a prepared kernel. Except for rooms it never changes.
type program struct {
	rooms  rooms
	kernel *ptx.Kernel
	source []ptx.Instruction
	params []ptx.Param
	shared *layout
	code   []instr
	uses   [uses]bool // of shared memory

	registers     []ptx.Register
	file          []int32 // of each register its index in the file of its width
	n32, n64, np  int     // sizes of the files
	constants32   map[uint32]int32
	constants64   map[uint64]int32
	constantPreds [2]int32 // false, true; -1 if not used
	params32      map[int]int32
	params64      map[int]int32
	specials      [ptx.LanemaskLT + 1]int32 // -1: not used
}

func compile(k *ptx.Kernel) (*program, error) {
	if err := k.Verify(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBadKernel, k.Name(), err)
	}
	p := &program{
		kernel: k, source: k.Instructions(), params: k.Params(), registers: k.Registers(), shared: newLayout(k),
		constants32: map[uint32]int32{}, constants64: map[uint64]int32{}, constantPreds: [2]int32{-1, -1},
		params32: map[int]int32{}, params64: map[int]int32{},
	}
	for i := range p.specials {
		p.specials[i] = -1
	}
	p.assign()
	p.code = make([]instr, len(p.source))
	for i := range p.source {
		if err := p.decode(&p.code[i], &p.source[i]); err != nil {
			return nil, fmt.Errorf("%w: %s: %s: %w", ErrBadKernel, k.Name(), p.source[i].Line, err)
		}
	}
	if n := len(p.code); n == 0 || p.code[n-1].kind != ret || p.code[n-1].guard >= 0 {
		return nil, fmt.Errorf("%w: %s does not end with a return", ErrBadKernel, k.Name())
	}
	return p, nil
}

// assign gives each register its place in the file of its width.
func (p *program) assign() {
	p.file = make([]int32, len(p.registers))
	for i, r := range p.registers {
		p.file[i] = p.place(r.Type.Bits())
	}
}

func (p *program) place(bits int) int32 {
	n := &p.n32
	switch bits {
	case 64:
		n = &p.n64
	case 1:
		n = &p.np
	}
	*n++
	return int32(*n - 1)
}

func (p *program) decode(in *instr, from *ptx.Instruction) error {
	sig := from.Op.Signature()
	in.guard, in.target, in.reconverge = -1, int32(from.Target), int32(from.Reconverge)
	in.uniform = from.Control >= ptx.UniformWarp
	in.agreed = from.Op == ptx.OpBraUni
	if g := from.Guard.Register; g != ptx.NoRegister {
		in.guard = p.file[g]
		in.reads = append(in.reads, int32(g))
		if from.Guard.Negated {
			in.negate = ^uint32(0)
		}
	}
	for i, want := range sig.Src {
		p.operand(in, i, from.Src[i], want)
	}
	for i := range sig.Dst {
		r := p.registers[from.Dst[i]]
		in.dst[i] = p.file[from.Dst[i]]
		in.writes = append(in.writes, written{int32(from.Dst[i]), in.dst[i], r.Type.Bits(), r.Uniformity >= ptx.UniformWarp})
	}
	in.class = classOf(from.Op, sig)
	if !in.bind(from.Op, sig) {
		return fmt.Errorf("%v cannot be simulated", from.Op)
	}
	if sig.Space == ptx.SpaceShared {
		p.uses[in.access.use] = true
	}
	if in.kind == branch && (from.Reconverge < 0 || from.Reconverge > len(p.source)) && in.guard >= 0 {
		return fmt.Errorf("lanes meet again at %d, which is no instruction", from.Reconverge)
	}
	return nil
}

// operand resolves the i-th operand.
func (p *program) operand(in *instr, i int, o ptx.Operand, want ptx.Type) {
	switch o.Kind {
	case ptx.OperandRegister:
		in.src[i] = p.file[o.Register]
		in.reads = append(in.reads, int32(o.Register))
	case ptx.OperandAddress:
		in.src[i], in.offset = p.file[o.Register], o.Offset
		in.reads = append(in.reads, int32(o.Register))
	case ptx.OperandImmediate:
		p.immediate(in, i, o.Value, want)
	case ptx.OperandArray:
		in.src[i] = constant(p, p.constants32, p.shared.bases[o.Value], 32)
	case ptx.OperandSpecial:
		if p.specials[o.Value] < 0 {
			p.specials[o.Value] = p.place(32)
		}
		in.src[i] = p.specials[o.Value]
	case ptx.OperandParam:
		if p.params[o.Value].Type.Bits() == 64 {
			in.src[i] = constant(p, p.params64, int(o.Value), 64)
		} else {
			in.src[i] = constant(p, p.params32, int(o.Value), 32)
		}
	}
}

func (p *program) immediate(in *instr, i int, v uint64, want ptx.Type) {
	switch {
	case want == ptx.TypeImmediate:
		in.control, in.immediate = in.immediate, uint32(v) // of two, the mask comes last
	case want.Bits() == 64:
		in.src[i] = constant(p, p.constants64, v, 64)
	case want.Bits() == 1:
		if p.constantPreds[v&1] < 0 {
			p.constantPreds[v&1] = p.place(1)
		}
		in.src[i] = p.constantPreds[v&1]
	default:
		in.src[i] = constant(p, p.constants32, uint32(v), 32)
	}
}

// constant returns the place of a value that stays the same during a launch.
func constant[K comparable](p *program, table map[K]int32, key K, bits int) int32 {
	at, ok := table[key]
	if !ok {
		at = p.place(bits)
		table[key] = at
	}
	return at
}
