// SPDX-License-Identifier: Apache-2.0

package ptx

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// maxErrors is how many faults a builder keeps.
const maxErrors = 20

// A Builder records one kernel, instruction by instruction, in the order of the calls. It belongs
// to one goroutine, and is of no use after Build.
type Builder struct {
	kernel Kernel
	// labels are the indices of the instructions before which each label stands; until Build, a
	// branch's target is an index into labels.
	labels []int
	region *region // innermost
	// floor is the uniformity of the kernel's threads as a whole: less than UniformBlock once some
	// warps may have returned.
	floor  Uniformity
	events int // counts reads of variables and beginnings of loops, to tell which came first
	errors []error
	built  bool
}

// New begins a kernel whose blocks have the given number of threads, a multiple of [WarpSize].
func New(name string, threads int) *Builder {
	b := &Builder{kernel: Kernel{name: name, threads: threads}, region: &region{cond: UniformBlock}, floor: UniformBlock}
	b.checkName("kernel", name)
	if threads <= 0 || threads > MaxThreads || threads%WarpSize != 0 {
		b.fail("a block of %d threads: want a multiple of %d up to %d", threads, WarpSize, MaxThreads)
	}
	return b
}

// MaxRegisters limits the registers that a thread may have on the device, from 24 to 255. Further
// ones spill to memory, which is slow.
func (b *Builder) MaxRegisters(n int) {
	if n < 24 || n > 255 {
		b.fail("at most %d registers: want 24 to 255", n)
	}
	b.kernel.maxRegisters = n
}

// Build returns the finished kernel, or all faults, each with the line of the author that caused
// it.
func (b *Builder) Build() (*Kernel, error) {
	if b.built {
		return nil, fmt.Errorf("the kernel %s is built already", b.kernel.name)
	}
	b.built = true
	if n := len(b.kernel.code); !b.region.ended || n == 0 || b.kernel.code[n-1].Op != OpRet || b.kernel.code[n-1].Guard.Register != NoRegister {
		b.region.ended = false
		b.append(OpRet, Guard{Register: NoRegister})
	}
	if len(b.errors) > 0 {
		return nil, fmt.Errorf("kernel %s: %w", b.kernel.name, errors.Join(b.errors...))
	}
	k := b.kernel
	code, labels := tidy(b.kernel.code, b.labels, b.kernel.registers)
	k.code = resolve(code, labels)
	if err := k.Verify(); err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.name, err)
	}
	return &k, nil
}

var identifier = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]*$`)

func (b *Builder) checkName(what, name string) {
	if !identifier.MatchString(name) {
		b.fail("%q is no name for a %s: want a letter, then letters, digits and underscores", name, what)
	}
}

// ParamU32 adds a parameter and reads it.
func (b *Builder) ParamU32(name string) U32 { return wrap[U32](b.param(name, OpLdParamU32, TypeU32)) }

// ParamGlobal adds a parameter that is an address in global memory, and reads it.
func (b *Builder) ParamGlobal(name string) Global64 {
	return wrap[Global64](b.param(name, OpLdParamU64, TypeGlobal64))
}

func (b *Builder) param(name string, op Opcode, t Type) value {
	b.checkName("parameter", name)
	if slices.ContainsFunc(b.kernel.params, func(p Param) bool { return p.Name == name }) {
		b.fail("there are two parameters %s", name)
	}
	b.kernel.params = append(b.kernel.params, Param{name, t})
	return b.define(op, t, UniformBlock, Operand{Kind: OperandParam, Value: uint64(len(b.kernel.params) - 1)})
}

// Shared declares an array in the block's shared memory and returns its address. The array is not
// initialised. The alignment is 1, 2, 4, 8 or 16. Arrays may lie in any order: an address of one
// must never be used to reach another.
func (b *Builder) Shared(name string, size, align int) Shared32 {
	b.checkName("shared array", name)
	if slices.ContainsFunc(b.kernel.shared, func(a SharedArray) bool { return a.Name == name }) {
		b.fail("there are two shared arrays %s", name)
	}
	if !slices.Contains([]int{1, 2, 4, 8, 16}, align) {
		b.fail("shared array %s: an alignment of %d", name, align)
		align = 16
	}
	offset := (b.kernel.sharedBytes + align - 1) &^ (align - 1)
	if size <= 0 || size > MaxSharedBytes-offset {
		b.fail("shared array %s: %d bytes from offset %d on: a block may have %d in all", name, size, offset, MaxSharedBytes)
		size = 1
	}
	b.kernel.shared = append(b.kernel.shared, SharedArray{name, offset, size, align})
	b.kernel.sharedBytes = offset + size
	return wrap[Shared32](b.define(OpMovArray, TypeShared32, UniformBlock, Operand{Kind: OperandArray, Value: uint64(len(b.kernel.shared) - 1)}))
}

// register makes a virtual register.
func (b *Builder) register(t Type, u Uniformity, variable bool) RegisterID {
	b.kernel.registers = append(b.kernel.registers, Register{Type: t, Uniformity: u, Variable: variable})
	return RegisterID(len(b.kernel.registers) - 1)
}

// append adds an instruction without results to the end of the program and returns it. No other
// function adds instructions.
func (b *Builder) append(op Opcode, guard Guard, src ...Operand) *Instruction {
	if b.region.ended {
		b.fail("%v is never reached: the code before it has left", op)
	}
	if when := b.region.guard(); when.Register != NoRegister {
		if guard.Register != NoRegister || op.Signature().Effect == EffectBranch {
			b.fail("control flow under When: use If")
		}
		guard = when
	}
	in := Instruction{Op: op, Guard: guard, Dst: [4]RegisterID{NoRegister, NoRegister, NoRegister, NoRegister}, Control: b.control(), Line: b.line()}
	copy(in.Src[:], src)
	b.kernel.code = append(b.kernel.code, in)
	return &b.kernel.code[len(b.kernel.code)-1]
}

// define appends an instruction with one result, whose type may be more precise than the table's,
// and returns the result.
func (b *Builder) define(op Opcode, t Type, u Uniformity, src ...Operand) value {
	in := b.append(op, Guard{Register: NoRegister}, src...)
	in.Dst[0] = b.register(t, u, false)
	return b.made(in.Dst[0], u)
}

// made returns the value in a register that the current region has just defined.
func (b *Builder) made(r RegisterID, u Uniformity) value {
	return value{b: b, operand: Operand{Kind: OperandRegister, Register: r}, uniformity: u, region: b.region}
}

// compute appends an instruction with the operands and result of the table, and returns the result,
// which is as uniform as the least uniform operand.
func (b *Builder) compute(op Opcode, src ...value) value {
	return b.computeAs(op, op.Signature().Dst[0], src...)
}

// computeAs is compute with a more precise type of the result.
func (b *Builder) computeAs(op Opcode, t Type, src ...value) value {
	operands, u := b.operands(src)
	return b.define(op, t, u, operands...)
}

// operands checks the operands of an instruction, and returns the least of their uniformities.
func (b *Builder) operands(src []value) ([]Operand, Uniformity) {
	operands, u := make([]Operand, len(src)), UniformBlock
	for i, v := range src {
		operands[i] = b.use(v)
		u = min(u, v.uniformity)
	}
	return operands, u
}

// fail records a fault at the author's line.
func (b *Builder) fail(format string, args ...any) { b.failAt(b.line(), format, args...) }

func (b *Builder) failAt(line Position, format string, args ...any) {
	if len(b.errors) < maxErrors {
		b.errors = append(b.errors, fmt.Errorf("%s: %s", line, fmt.Sprintf(format, args...)))
	}
}

// own is the directory of this package's files. Function names do not tell: a closure is named
// after the function that it is inlined into.
var own = func() string {
	_, file, _, _ := runtime.Caller(0)
	return directory(file)
}()

// directory is a file's path up to its last slash.
func directory(file string) string { return file[:strings.LastIndexByte(file, '/')+1] }

// line returns where the author called this package; its own tests are authors too.
func (b *Builder) line() Position {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		if directory(frame.File) != own || strings.HasSuffix(frame.File, "_test.go") || !more {
			return Position{frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line}
		}
	}
}
