// SPDX-License-Identifier: Apache-2.0

package ptx

import "slices"

// tidy removes instructions that only result from the way in which kernels are written. Labels are
// indices of instructions, and targets are labels.
func tidy(code []Instruction, labels []int, registers []Register) ([]Instruction, []int) {
	drop := make([]bool, len(code))
	uses := make([]int, len(registers))
	for i := range code {
		for _, r := range code[i].reads() {
			uses[r]++
		}
	}
	// A load of four values can have four moves behind it.
	last := 0
	for i := 1; i < len(code); i++ {
		if !slices.Contains(labels, i) {
			drop[i] = takesOver(&code[last], &code[i], uses) || last == i-1 && jumpsInstead(&code[last], &code[i], labels, i+1)
		}
		if !drop[i] {
			last = i
		}
	}
	kept, place := without(code, drop)
	moved := make([]int, len(labels))
	for i, at := range labels {
		moved[i] = place[at]
	}
	return kept, moved
}

// without returns the code less the dropped instructions, and for each instruction the new index of
// it, or else of the one after it.
func without(code []Instruction, drop []bool) ([]Instruction, []int) {
	kept, place := make([]Instruction, 0, len(code)), make([]int, len(code)+1)
	for i := range code {
		place[i] = len(kept)
		if !drop[i] {
			kept = append(kept, code[i])
		}
	}
	place[len(code)] = len(kept)
	return kept, place
}

// jumpsInstead combines a branch that only skips the next branch with that one: it takes its target
// under the opposite guard. A condition around a lone Break comes out that way. It reports whether
// that was possible; next is the index behind both.
func jumpsInstead(in, skipped *Instruction, labels []int, next int) bool {
	if in.Op.Signature().Effect != EffectBranch || in.Guard.Register == NoRegister || labels[in.Target] != next ||
		skipped.Op.Signature().Effect != EffectBranch || skipped.Guard.Register != NoRegister {
		return false
	}
	in.Guard, in.Target = in.Guard.not(), skipped.Target
	return true
}

// takesOver makes an instruction write the register to which the next move would copy its result,
// if the result has no other use. It reports whether that was possible.
func takesOver(in, move *Instruction, uses []int) bool {
	if move.Op != OpMovU32 && move.Op != OpMovU64 && move.Op != OpMovPred || move.Src[0].Kind != OperandRegister || in.Guard != move.Guard {
		return false
	}
	from, to := move.Src[0].Register, move.Dst[0]
	i := slices.Index(in.Dst[:], from)
	if i < 0 || uses[from] != 1 || slices.Contains(in.Dst[:], to) {
		return false
	}
	in.Dst[i] = to
	return true
}

// reads lists the registers that an instruction reads, its guard's among them.
func (in *Instruction) reads() []RegisterID {
	var all []RegisterID
	if in.Guard.Register != NoRegister {
		all = append(all, in.Guard.Register)
	}
	for _, o := range in.Src {
		if o.Kind == OperandRegister || o.Kind == OperandAddress {
			all = append(all, o.Register)
		}
	}
	return all
}

// resolve turns the targets of branches from labels into indices and finds their points of
// reconvergence.
func resolve(code []Instruction, labels []int) []Instruction {
	for i := range code {
		if code[i].Op.Signature().Effect == EffectBranch {
			code[i].Target = labels[code[i].Target]
		}
	}
	for i := range code {
		if code[i].Op.Signature().Effect == EffectBranch {
			code[i].Target = destination(code, code[i].Target)
		}
	}
	code, place := without(code, unreached(code))
	for i := range code {
		if code[i].Op.Signature().Effect == EffectBranch {
			code[i].Target = place[code[i].Target]
		}
	}
	meets := postDominators(code)
	for i := range code {
		if code[i].Op.Signature().Effect == EffectBranch && code[i].Guard.Register != NoRegister {
			code[i].Reconverge = meets[i]
		}
	}
	return code
}

// destination follows branches that only lead to another place.
func destination(code []Instruction, i int) int {
	for range code { // bounded, because branches may form an endless loop
		in := &code[i]
		if in.Op.Signature().Effect != EffectBranch || in.Guard.Register != NoRegister {
			return i
		}
		i = in.Target
	}
	return i
}

// unreached marks the instructions that are not reached from the first one, except the last, which
// marks the end.
func unreached(code []Instruction) []bool {
	none := make([]bool, len(code))
	for i := range none {
		none[i] = i < len(code)-1
	}
	for ways := []int{0}; len(ways) > 0; {
		i := ways[len(ways)-1]
		ways = ways[:len(ways)-1]
		none[i] = false
		for _, s := range successors(code, i) {
			if s < len(code) && none[s] {
				ways = append(ways, s)
			}
		}
	}
	return none
}

// successors returns the instructions that may follow number i; len(code) stands for the kernel's
// end.
func successors(code []Instruction, i int) []int {
	guarded := code[i].Guard.Register != NoRegister
	var all []int
	switch code[i].Op.Signature().Effect {
	case EffectBranch:
		all = append(all, code[i].Target)
	case EffectReturn:
		all = append(all, len(code))
	default:
		return append(all, i+1)
	}
	if guarded {
		all = append(all, i+1)
	}
	return all
}

// postDominators returns for each instruction the first one that all ways from it to the end have
// in common, len(code) if that is the end. It is the usual iteration to a fixed point, on the
// reversed graph and numbered from the end.
func postDominators(code []Instruction) []int {
	exit := len(code)
	order := reversePostorder(code)
	number := make([]int, exit+1) // in the order; greater means nearer to the end
	for i := range number {
		number[i] = -1
	}
	for i, n := range order {
		number[n] = len(order) - i
	}
	meet := make([]int, exit+1)
	for i := range meet {
		meet[i] = -1
	}
	meet[exit] = exit
	for changed := true; changed; {
		changed = false
		for _, n := range order[1:] {
			common := -1
			for _, s := range successors(code, n) {
				if meet[s] < 0 {
					continue
				}
				if common < 0 {
					common = s
				}
				common = intersect(meet, number, common, s)
			}
			if common != meet[n] {
				meet[n], changed = common, true
			}
		}
	}
	for i := range meet {
		if meet[i] < 0 { // cannot get to the end
			meet[i] = exit
		}
	}
	return meet
}

func intersect(meet, number []int, a, b int) int {
	for a != b {
		for number[a] < number[b] {
			a = meet[a]
		}
		for number[b] < number[a] {
			b = meet[b]
		}
	}
	return a
}

// reversePostorder lists the end and all instructions from which it can be reached, in reverse
// postorder of the reversed graph.
func reversePostorder(code []Instruction) []int {
	before := make([][]int, len(code)+1)
	for i := range code {
		for _, s := range successors(code, i) {
			before[s] = append(before[s], i)
		}
	}
	seen := make([]bool, len(code)+1)
	var order []int
	type step struct{ node, next int }
	stack := []step{{len(code), 0}}
	seen[len(code)] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next < len(before[top.node]) {
			n := before[top.node][top.next]
			top.next++
			if !seen[n] {
				seen[n] = true
				stack = append(stack, step{n, 0})
			}
			continue
		}
		order = append(order, top.node)
		stack = stack[:len(stack)-1]
	}
	slices.Reverse(order)
	return order
}
