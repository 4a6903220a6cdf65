// SPDX-License-Identifier: Apache-2.0

package sim

// WarpSize is how many lanes a warp has.
const WarpSize = 32

// Class groups instructions by the unit that would run them.
type Class int

// The classes.
const (
	Integer Class = iota
	Move
	Compare
	Branch
	GlobalLoad
	GlobalStore
	GlobalAtomic
	SharedLoad
	SharedStore
	SharedAtomic
	Exchange // shfl, vote, match
	Barrier
	Classes
)

var classNames = [Classes]string{"integer", "move", "compare", "branch", "global load", "global store", "global atomic",
	"shared load", "shared store", "shared atomic", "exchange", "barrier"}

// String returns the class's name.
func (c Class) String() string { return classNames[c] }

// Traffic counts a kind of global accesses.
type Traffic struct {
	Instructions uint64 // warp instructions that at least one lane took part in
	Bytes        uint64 // that the lanes asked for
	Sectors      uint64 // of 32 bytes, that had to be moved
	Transactions uint64 // lines of 128 bytes, that had to be touched
	Coalesced    uint64 // instructions whose lanes wanted bytes that lie side by side
}

// CoalescedShare is the share of instructions that were coalesced, from 0 to 1.
func (t Traffic) CoalescedShare() float64 { return share(t.Coalesced, t.Instructions) }

// Efficiency is the share of the bytes moved that were asked for. A sector that
// many lanes read can make it more than 1.
func (t Traffic) Efficiency() float64 { return share(t.Bytes, t.Sectors*sectorSize) }

// Stats counts what a launch did.
type Stats struct {
	Blocks       uint64
	Warps        uint64
	Instructions uint64          // warp instructions
	Class        [Classes]uint64 // the same by class
	Lanes        uint64          // lanes that took part, summed over instructions
	Branches     uint64
	Divergent    uint64 // branches that lanes left on different ways

	Loads, Stores, Atomics Traffic

	// Instruction counts each instruction of the kernel, in its order.
	Instruction []Count

	Shared        uint64 // shared accesses, in warp instructions
	BankConflicts uint64 // further passes that they needed
}

// Count says how often an instruction was executed.
type Count struct {
	Warps uint64 // by warps
	Lanes uint64 // by lanes
}

// ActiveLanes is the mean number of lanes that took part in an instruction.
func (s *Stats) ActiveLanes() float64 { return share(s.Lanes, s.Instructions) }

// Add adds what t counted, in a launch of the same kernel if Instruction is to make sense.
func (s *Stats) Add(t *Stats) {
	s.Blocks += t.Blocks
	s.Warps += t.Warps
	s.Instructions += t.Instructions
	for i := range s.Class {
		s.Class[i] += t.Class[i]
	}
	s.Lanes += t.Lanes
	s.Branches += t.Branches
	s.Divergent += t.Divergent
	s.Loads.add(&t.Loads)
	s.Stores.add(&t.Stores)
	s.Atomics.add(&t.Atomics)
	if s.Instruction == nil {
		s.Instruction = make([]Count, len(t.Instruction))
	}
	for i := range min(len(s.Instruction), len(t.Instruction)) {
		s.Instruction[i].Warps += t.Instruction[i].Warps
		s.Instruction[i].Lanes += t.Instruction[i].Lanes
	}
	s.Shared += t.Shared
	s.BankConflicts += t.BankConflicts
}

func (t *Traffic) add(u *Traffic) {
	t.Instructions += u.Instructions
	t.Bytes += u.Bytes
	t.Sectors += u.Sectors
	t.Transactions += u.Transactions
	t.Coalesced += u.Coalesced
}

func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
