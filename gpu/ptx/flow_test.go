// SPDX-License-Identifier: Apache-2.0

package ptx

import (
	"math/rand/v2"
	"testing"
)

// someKernel builds control flow at random.
func someKernel(seed uint64) (*Kernel, error) {
	random, b := rand.New(rand.NewPCG(seed, 0)), New("some", 64)
	lane, block := b.LaneID(), b.CtaidX()
	condition := func() Pred {
		if random.IntN(2) == 0 {
			return lane.Lt(N(random.Uint32N(32)))
		}
		return block.Lt(N(random.Uint32N(32)))
	}
	var body func(depth, loops int)
	body = func(depth, loops int) {
		for range random.IntN(4) {
			if b.region.ended || depth > 4 {
				return
			}
			inner := func() { body(depth+1, loops) }
			switch random.IntN(9) {
			case 0:
				b.If(condition(), inner)
			case 1:
				b.IfElse(condition(), inner, inner)
			case 2:
				b.Loop(func() {
					body(depth+1, loops+1)
					if !b.region.ended {
						b.BreakIf(condition())
					}
				})
			case 3:
				b.Repeat(func() Pred {
					body(depth+1, loops+1)
					if b.region.ended {
						return True
					}
					return condition()
				})
			case 4:
				if loops > 0 {
					b.BreakIf(condition())
				}
			case 5:
				if loops > 0 {
					b.Break()
				}
			case 6:
				if b.control() > Varying {
					b.ReturnIf(block.Eq(N(1)))
				}
			case 7:
				if b.control() > Varying {
					b.Return()
				}
			default:
				lane.Add(block)
			}
		}
	}
	body(0, 0)
	return b.Build()
}

// reaches tells whether from leads to the end without passing avoided.
func reaches(code []Instruction, from, avoided int) bool {
	seen, ways := make([]bool, len(code)+1), []int{from}
	for len(ways) > 0 {
		i := ways[len(ways)-1]
		ways = ways[:len(ways)-1]
		if i == avoided || seen[i] {
			continue
		}
		if i == len(code) {
			return true
		}
		seen[i] = true
		ways = append(ways, successors(code, i)...)
	}
	return false
}

// meeting finds by the definition where the threads of a branch meet again: of the places without
// which the end cannot be reached, the one from which the others still lie ahead.
func meeting(code []Instruction, branch int) int {
	var all []int
	for i := range code {
		if i != branch && !reaches(code, branch, i) {
			all = append(all, i)
		}
	}
	for _, i := range all {
		first := true
		for _, other := range all {
			if other != i && reaches(code, i, other) {
				first = false
			}
		}
		if first {
			return i
		}
	}
	return len(code)
}

// Threads of a branch meet again at its immediate post-dominator, found here by trying.
func TestBranchesMeetAtTheirPostDominator(t *testing.T) {
	branches, ends := 0, 0
	for seed := range uint64(400) {
		k, err := someKernel(seed)
		if err != nil {
			continue // what was built at random may have code that is never reached
		}
		for i, in := range k.code {
			if in.Op.Signature().Effect != EffectBranch || in.Guard.Register == NoRegister || !reaches(k.code, i, -1) {
				continue
			}
			branches++
			want := meeting(k.code, i)
			if want == len(k.code) {
				ends++
			}
			if in.Reconverge != want {
				t.Fatalf("seed %d: the branch at %d meets at %d, want %d:\n%s", seed, i, in.Reconverge, want, k.PTX())
			}
		}
	}
	t.Logf("%d branches, %d of them meet in the kernel's end", branches, ends)
	if branches < 500 || ends < 10 {
		t.Errorf("%d branches, %d of them meet in the kernel's end: that proves little", branches, ends)
	}
}

// Nothing is left that cannot be reached, every kernel ends with a return, and no target lies
// outside.
func TestCodeIsTidy(t *testing.T) {
	for seed := range uint64(400) {
		k, err := someKernel(seed)
		if err != nil {
			continue
		}
		if last := k.code[len(k.code)-1]; last.Op != OpRet || last.Guard.Register != NoRegister {
			t.Errorf("seed %d: the last instruction is %v", seed, last.Op)
		}
		for i, none := range unreached(k.code) {
			if none {
				t.Errorf("seed %d: instruction %d is never reached:\n%s", seed, i, k.PTX())
			}
		}
	}
}
