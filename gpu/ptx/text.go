// SPDX-License-Identifier: Apache-2.0

package ptx

import (
	"fmt"
	"slices"
	"strings"
)

// header begins all text: the oldest version and target with all that kernels use, so that every
// driver for the device takes it.
const header = ".version 6.0\n.target sm_70\n.address_size 64\n"

// PTX prints the kernel as a module of its own, for ptxas or the driver. The same kernel always
// gives the same text.
func (k *Kernel) PTX() string {
	var text strings.Builder
	text.WriteString(header + "\n")
	newPrinter(k, &text).print()
	return text.String()
}

// printer prints one kernel.
type printer struct {
	k      *Kernel
	text   *strings.Builder
	names  map[RegisterID]string
	counts map[string]int // of registers, by the letters that their names begin with
	labels map[int]string
}

// classes are the first letters of registers' names, and the declarations of their classes.
var classes = []struct {
	t           Type
	letters, is string
}{
	{TypePred, "%p", ".pred"},
	{TypeU32, "%r", ".b32"},
	{TypeU64, "%d", ".b64"},
	{TypeShared32, "%s", ".b32"},
	{TypeGlobal64, "%g", ".b64"},
}

// newPrinter names the registers and labels in the order of the program.
func newPrinter(k *Kernel, text *strings.Builder) *printer {
	p := &printer{k, text, map[RegisterID]string{}, map[string]int{}, map[int]string{}}
	var targets []int
	for i := range k.code {
		in := &k.code[i]
		for _, r := range append(in.reads(), in.Dst[:]...) {
			p.call(r)
		}
		if in.Op.Signature().Effect == EffectBranch {
			targets = append(targets, in.Target)
		}
	}
	slices.Sort(targets)
	for i, t := range slices.Compact(targets) {
		p.labels[t] = fmt.Sprintf("L%d", i+1)
	}
	return p
}

// call gives a register its name.
func (p *printer) call(r RegisterID) {
	if p.names[r] != "" || r == NoRegister {
		return
	}
	for _, c := range classes {
		if c.t == p.k.registers[r].Type {
			p.names[r] = fmt.Sprintf("%s%d", c.letters, p.counts[c.letters])
			p.counts[c.letters]++
		}
	}
}

func (p *printer) print() {
	k := p.k
	fmt.Fprintf(p.text, ".visible .entry %s(", k.name)
	for i, param := range k.params {
		if i > 0 {
			p.text.WriteString(",")
		}
		fmt.Fprintf(p.text, "\n\t.param .u%d %s", param.Type.Bits(), paramName(param))
	}
	fmt.Fprintf(p.text, "\n)\n.reqntid %d, 1, 1\n", k.threads)
	if k.maxRegisters > 0 {
		fmt.Fprintf(p.text, ".maxnreg %d\n", k.maxRegisters)
	}
	p.text.WriteString("{\n")
	for _, c := range classes {
		if n := p.counts[c.letters]; n > 0 {
			fmt.Fprintf(p.text, "\t.reg %s %s<%d>;\n", c.is, c.letters, n)
		}
	}
	for _, a := range k.shared {
		fmt.Fprintf(p.text, "\t.shared .align %d .b8 %s[%d];\n", a.Align, arrayName(a), a.Size)
	}
	p.text.WriteString("\n")
	for i := range k.code {
		if l := p.labels[i]; l != "" {
			fmt.Fprintf(p.text, "%s:\n", l)
		}
		if k.code[i].Op != OpNop {
			fmt.Fprintf(p.text, "\t%s;\n", p.instruction(&k.code[i]))
		}
	}
	p.text.WriteString("}\n")
}

// The prefixes keep names clear of the words that PTX reserves.

func paramName(p Param) string       { return "param_" + p.Name }
func arrayName(a SharedArray) string { return "shared_" + a.Name }

func (p *printer) instruction(in *Instruction) string {
	sig := in.Op.Signature()
	var operands []string
	switch {
	case in.Op == OpUnpack, sig.Elements > 1 && sig.Effect == EffectLoad:
		operands = append(operands, p.vector(p.results(in)))
	default:
		operands = append(operands, p.results(in)...)
	}
	sources := p.sources(in)
	switch {
	case in.Op == OpPack:
		sources = []string{p.vector(sources)}
	case sig.Elements > 1 && sig.Effect == EffectStore:
		sources = []string{sources[0], p.vector(sources[1:])}
	}
	operands = append(operands, sources...)
	if sig.Effect == EffectBranch {
		operands = append(operands, p.labels[in.Target])
	}
	return strings.TrimSuffix(p.guard(in.Guard)+sig.Mnemonic+" "+strings.Join(operands, ", "), " ")
}

func (p *printer) guard(g Guard) string {
	switch {
	case g.Register == NoRegister:
		return ""
	case g.Negated:
		return "@!" + p.names[g.Register] + " "
	}
	return "@" + p.names[g.Register] + " "
}

func (p *printer) vector(operands []string) string { return "{" + strings.Join(operands, ", ") + "}" }

func (p *printer) results(in *Instruction) []string {
	var all []string
	for i := range in.Op.Signature().Dst {
		all = append(all, p.names[in.Dst[i]])
	}
	return all
}

func (p *printer) sources(in *Instruction) []string {
	var all []string
	for i, t := range in.Op.Signature().Src {
		all = append(all, p.source(in.Src[i], t))
	}
	return all
}

func (p *printer) source(o Operand, t Type) string {
	switch o.Kind {
	case OperandRegister:
		return p.names[o.Register]
	case OperandAddress:
		if o.Offset == 0 {
			return fmt.Sprintf("[%s]", p.names[o.Register])
		}
		return fmt.Sprintf("[%s+%d]", p.names[o.Register], o.Offset)
	case OperandParam:
		return fmt.Sprintf("[%s]", paramName(p.k.params[o.Value]))
	case OperandSpecial:
		return Special(o.Value).String()
	case OperandArray:
		return arrayName(p.k.shared[o.Value])
	}
	if o.Value < 1<<16 {
		return fmt.Sprintf("%d", o.Value)
	}
	return fmt.Sprintf("%#x", o.Value)
}
