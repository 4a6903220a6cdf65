// SPDX-License-Identifier: Apache-2.0

package ptx

import (
	"fmt"
	"slices"
)

// WarpSize is the number of lanes of a warp.
const WarpSize = 32

// MaxSharedBytes is the most shared memory that a block may declare: the limit of static allocation
// on every device.
const MaxSharedBytes = 48 << 10

// MaxThreads is the largest block.
const MaxThreads = 1024

// A Type is the type of a register or of an instruction's operand.
type Type uint8

// The types of registers. Shared32 and Global64 are addresses: a register of U32's and U64's width
// whose space is known.
const (
	TypeNone Type = iota
	TypePred
	TypeU32
	TypeU64
	TypeShared32
	TypeGlobal64
	// The following types are those of operands only.
	TypeImmediate     // a constant that must stand in the instruction itself
	TypeAddressShared // a register of TypeShared32 and a constant offset
	TypeAddressGlobal // a register of TypeGlobal64 and a constant offset
	TypeParam         // a parameter of the kernel
	TypeSpecial       // one of the machine's own registers
	TypeArray         // the start of a shared array
)

// Bits returns the width of a register of this type: 1, 32 or 64, and 0 for other types.
func (t Type) Bits() int {
	switch t {
	case TypePred:
		return 1
	case TypeU32, TypeShared32:
		return 32
	case TypeU64, TypeGlobal64:
		return 64
	}
	return 0
}

// String is the type's name in messages.
func (t Type) String() string {
	names := [...]string{"none", "pred", "u32", "u64", "shared32", "global64", "immediate", "[shared32]", "[global64]", "parameter", "special register", "shared array"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("Type(%d)", t)
}

// Uniformity is the set of threads among which a value is known to be equal, or code to be reached
// together.
type Uniformity uint8

// From the least to the most knowledge.
const (
	Varying Uniformity = iota
	UniformWarp
	UniformBlock
)

// String names the level in messages.
func (u Uniformity) String() string {
	return [...]string{"varying", "uniform in the warp", "uniform in the block"}[min(u, UniformBlock)]
}

// RegisterID is an index into [Kernel.Registers].
type RegisterID int32

// NoRegister marks the absence of a register.
const NoRegister RegisterID = -1

// A Register is a virtual register; each thread has its own.
type Register struct {
	Type Type
	// Uniformity is what the builder could prove of the values that one execution of a defining
	// instruction leaves in the threads that execute it together. A simulator may check it.
	Uniformity Uniformity
	// Variable: several instructions may write the register. Others are written by one instruction
	// only, which dominates all uses.
	Variable bool
}

// A Param is a parameter of the kernel: of TypeU32, TypeU64 or TypeGlobal64.
type Param struct {
	Name string
	Type Type
}

// A SharedArray is a part of the block's shared memory.
type SharedArray struct {
	Name   string
	Offset int // from the start of the block's shared memory, a multiple of Align
	Size   int
	Align  int // a power of two from 1 to 16
}

// OperandKind selects the fields of an [Operand] that count.
type OperandKind uint8

// The kinds of operands.
const (
	OperandNone      OperandKind = iota
	OperandRegister              // Register
	OperandImmediate             // Value
	OperandAddress               // Register plus Offset
	OperandParam                 // Value is an index into [Kernel.Params]
	OperandSpecial               // Value is a [Special]
	OperandArray                 // Value is an index into [Kernel.Shared]; the operand is the array's address
)

// An Operand is an operand that an instruction reads.
type Operand struct {
	Kind     OperandKind
	Register RegisterID
	Offset   int32
	Value    uint64
}

// Special is one of the machine's read-only registers, all of TypeU32.
type Special uint8

// The special registers that kernels may read.
const (
	TidX Special = iota
	NtidX
	CtaidX
	NctaidX
	LaneID
	LanemaskLT // a bit for each lane below this one
)

// String is the register's name in PTX.
func (s Special) String() string {
	names := [...]string{"%tid.x", "%ntid.x", "%ctaid.x", "%nctaid.x", "%laneid", "%lanemask_lt"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("%%special%d", uint8(s))
}

// A Position is a line of a kernel's source in Go.
type Position struct {
	File string // without its directory
	Line int
}

// String is FILE:LINE.
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// A Guard is a predicate that decides, thread by thread, whether an instruction is executed.
type Guard struct {
	Register RegisterID // NoRegister: always
	Negated  bool
}

// An Instruction is one line of the program. The opcode's [Signature] has the number and types of
// Dst and Src.
type Instruction struct {
	Op    Opcode
	Guard Guard
	Dst   [4]RegisterID
	Src   [5]Operand
	// Target is, for a branch, the index of the instruction that is executed next if the guard
	// holds.
	Target int
	// Reconverge is, for a branch with a guard, the index of the first instruction that all its
	// threads reach: the branch's immediate post-dominator. It is the number of instructions if
	// they meet only in the kernel's end.
	Reconverge int
	// Control is how uniformly the instruction is reached, guard included.
	Control Uniformity
	// Line is where the kernel's author wrote the instruction.
	Line Position
}

// A Kernel is a finished program. It never changes, so any number of goroutines may use it.
type Kernel struct {
	name         string
	params       []Param
	registers    []Register
	shared       []SharedArray
	sharedBytes  int
	threads      int
	maxRegisters int // a thread
	code         []Instruction
}

// Name returns the name under which the kernel is launched.
func (k *Kernel) Name() string { return k.name }

// Params returns the kernel's parameters, in the order in which a launch passes them.
func (k *Kernel) Params() []Param { return slices.Clone(k.params) }

// Registers returns the kernel's virtual registers.
func (k *Kernel) Registers() []Register { return slices.Clone(k.registers) }

// Shared returns the arrays in the block's shared memory. The driver may place them in another
// order: no address of one array reaches another.
func (k *Kernel) Shared() []SharedArray { return slices.Clone(k.shared) }

// SharedBytes returns the size of a block's shared memory.
func (k *Kernel) SharedBytes() int { return k.sharedBytes }

// Threads returns the number of threads that each block of a launch must have.
func (k *Kernel) Threads() int { return k.threads }

// MaxRegisters returns the limit of registers for a thread on the device, 0 for the driver's
// choice.
func (k *Kernel) MaxRegisters() int { return k.maxRegisters }

// Instructions returns the program. Execution begins with the first; the last is always a return.
func (k *Kernel) Instructions() []Instruction { return slices.Clone(k.code) }

// Altered returns a kernel with instructions changed by alter, for tests that plant faults: nothing
// is checked, and reconvergence points stay as they are; [Kernel.Verify] checks whether the types
// still fit. The opcode OpNop removes an instruction.
func (k *Kernel) Altered(alter func(code []Instruction)) *Kernel {
	altered := *k
	altered.code = slices.Clone(k.code)
	alter(altered.code)
	return &altered
}
