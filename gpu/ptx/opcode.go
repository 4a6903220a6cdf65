// SPDX-License-Identifier: Apache-2.0

package ptx

// An Opcode is an instruction with all that its mnemonic says, its types included.
type Opcode uint8

// The opcodes. The table of signatures has their operands and results; the PTX ISA describes them
// under the mnemonic.
const (
	OpNop Opcode = iota
	OpBra
	OpBraUni // the guard is equal in all threads that execute it together
	OpRet

	OpLdParamU32
	OpLdParamU64
	OpMovSpecial
	OpMovArray
	OpMovU32
	OpMovU64
	OpMovPred
	OpPack   // Src: low half, high half
	OpUnpack // Dst: low half, high half
	OpCvtU64U32
	OpCvtU32U64

	OpAddU32
	OpSubU32
	OpMulLoU32
	OpMadLoU32
	OpMadWideU32
	OpDivU32
	OpMinU32
	OpMaxU32
	OpAndB32
	OpOrB32
	OpXorB32
	OpShlB32      // a count above 31 gives 0
	OpShrU32      // likewise
	OpShfRWrapB32 // Src: low half, high half, count modulo 32
	OpPopcB32
	OpClzB32
	OpBfindU32 // 0xffffffff if no bit is set
	OpBrevB32
	OpPrmtB32
	OpBfeU32

	OpAddU64
	OpMulLoU64
	OpAndB64
	OpOrB64
	OpXorB64
	OpShlB64
	OpShrU64

	OpSetpEqU32
	OpSetpNeU32
	OpSetpLtU32
	OpSetpLeU32
	OpSetpGtU32
	OpSetpGeU32
	OpSetpLtS32
	OpSetpGtS32
	OpSelpU32
	OpSelpU64
	OpAndPred
	OpOrPred
	OpNotPred

	OpLdGlobalU8
	OpLdGlobalU16
	OpLdGlobalU32
	OpLdGlobalU64
	OpLdGlobalV4U32
	OpStGlobalU8
	OpStGlobalU16
	OpStGlobalU32
	OpStGlobalU64
	OpStGlobalV4U32
	OpLdSharedU8
	OpLdSharedU16
	OpLdSharedU32
	OpLdSharedU64
	OpLdSharedV4U32
	OpStSharedU8
	OpStSharedU16
	OpStSharedU32
	OpStSharedU64
	OpStSharedV4U32
	OpLdVolatileSharedU32
	OpStVolatileGlobalU32

	OpAtomGlobalAddU32
	OpAtomSharedAddU32
	OpAtomSharedOrB32

	OpShflIdx  // Src: value, lane, clamp and segment mask, member mask
	OpShflUp   // likewise, with a distance for the lane
	OpShflBfly // likewise, with a mask of lane bits
	OpVoteBallot
	OpVoteAny
	OpVoteAll
	OpMatchAny
	OpBarWarpSync // Src: member mask
	OpBarSync     // Src: barrier number
	OpMembarCta

	opcodes // their number
)

// Effect is the effect of an opcode other than computing a value from its operands.
type Effect uint8

// The effects.
const (
	EffectNone   Effect = iota
	EffectBranch        // continues at its target
	EffectReturn        // ends the thread
	EffectLoad
	EffectStore
	EffectAtomic
	EffectWarp  // involves other lanes of the warp, which all must execute it together
	EffectBlock // involves all threads of the block
	EffectFence // keeps the thread's own accesses to memory in order, without waiting
)

// Space is a part of the memory.
type Space uint8

// The spaces.
const (
	SpaceNone Space = iota
	SpaceGlobal
	SpaceShared
)

// A Signature describes an opcode.
type Signature struct {
	Mnemonic string
	// Dst and Src are the types of the operands. Where Src says TypePred, TypeU32 or TypeU64 the
	// operand may be a constant too. TypeU32 and TypeU64 allow an address of their width.
	Dst, Src []Type
	Effect   Effect
	Space    Space
	// Element is the bytes of one element of a memory access, Elements their number; the address
	// must be a multiple of the product.
	Element, Elements int
	// Relaxed: threads may do this to the same bytes at the same time without a race; the result is
	// one of theirs.
	Relaxed bool
}

// Bytes returns the size of the memory access, which is also its alignment.
func (s Signature) Bytes() int { return s.Element * s.Elements }

// Signature returns the opcode's row of the table, or the zero value.
func (o Opcode) Signature() Signature {
	if o >= opcodes {
		return Signature{}
	}
	return signatures[o]
}

// String is the mnemonic.
func (o Opcode) String() string { return o.Signature().Mnemonic }
