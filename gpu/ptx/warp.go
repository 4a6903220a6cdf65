// SPDX-License-Identifier: Apache-2.0

package ptx

// fullMask selects all lanes of a warp. Warp-wide instructions are refused where some may be
// absent, so no other mask is needed.
const fullMask = 0xffffffff

// Clamp and segment mask of the shuffles: one segment of 32 lanes, and the last lane that a source
// may be.
const (
	lastLane  = 31
	firstLane = 0 // for ShflUp
)

func (b *Builder) special(s Special, u Uniformity) U32 {
	return wrap[U32](b.define(OpMovSpecial, TypeU32, u, Operand{Kind: OperandSpecial, Value: uint64(s)}))
}

// TidX is the thread's number in its block.
func (b *Builder) TidX() U32 { return b.special(TidX, Varying) }

// NtidX is the number of threads in a block, as given to [New].
func (b *Builder) NtidX() U32 { return b.special(NtidX, UniformBlock) }

// CtaidX is the block's number in the launch.
func (b *Builder) CtaidX() U32 { return b.special(CtaidX, UniformBlock) }

// NctaidX is the number of blocks in the launch.
func (b *Builder) NctaidX() U32 { return b.special(NctaidX, UniformBlock) }

// LaneID is the thread's number in its warp.
func (b *Builder) LaneID() U32 { return b.special(LaneID, Varying) }

// LanemaskLT has a bit set for each lane below this one.
func (b *Builder) LanemaskLT() U32 { return b.special(LanemaskLT, Varying) }

// WarpID is the warp's number in its block, computed so that the builder knows it to be equal in
// all lanes.
func (b *Builder) WarpID() U32 {
	tid := b.TidX()
	return wrap[U32](b.define(OpShrU32, TypeU32, UniformWarp, tid.operand, Operand{Kind: OperandImmediate, Value: 5}))
}

// Warps is the number of warps in a block.
func (b *Builder) Warps() U32 { return N(uint32(b.kernel.threads / WarpSize)) }

// ShflIdx is v in the given lane, modulo 32. For a uniform lane the result is uniform.
func (b *Builder) ShflIdx(v, lane U32) U32 {
	return b.shuffle(OpShflIdx, v, lane, lastLane, max(v.uniformity, min(lane.uniformity, UniformWarp)))
}

// ShflUp is v in the lane that many below this one, or the lane's own v if there is none.
func (b *Builder) ShflUp(v, distance U32) U32 {
	return b.shuffle(OpShflUp, v, distance, firstLane, v.uniformity)
}

// ShflBfly is v in the lane whose number differs in the bits of mask.
func (b *Builder) ShflBfly(v, mask U32) U32 {
	return b.shuffle(OpShflBfly, v, mask, lastLane, v.uniformity)
}

func (b *Builder) shuffle(op Opcode, v, lane U32, clamp uint64, u Uniformity) U32 {
	b.together(op, UniformWarp)
	operands, _ := b.operands([]value{v.value, lane.value, constant(clamp), constant(fullMask)})
	return wrap[U32](b.define(op, TypeU32, u, operands...))
}

// ShflBflyU64 is ShflBfly of 64 bits: two shuffles.
func (b *Builder) ShflBflyU64(v U64, mask U32) U64 {
	low, high := v.Unpack()
	return b.ShflBfly(low, mask).Pack(b.ShflBfly(high, mask))
}

// Ballot has a bit set for each lane in which the condition holds.
func (b *Builder) Ballot(p Pred) U32 { return wrap[U32](b.vote(OpVoteBallot, p)) }

// Any is whether the condition holds in any lane.
func (b *Builder) Any(p Pred) Pred { return wrap[Pred](b.vote(OpVoteAny, p)) }

// All is whether the condition holds in all lanes.
func (b *Builder) All(p Pred) Pred { return wrap[Pred](b.vote(OpVoteAll, p)) }

func (b *Builder) vote(op Opcode, p Pred) value {
	b.together(op, UniformWarp)
	operands, _ := b.operands([]value{p.value, constant(fullMask)})
	return b.define(op, op.Signature().Dst[0], UniformWarp, operands...)
}

// MatchAny has a bit set for each lane whose v equals this lane's.
func (b *Builder) MatchAny(v U32) U32 {
	b.together(OpMatchAny, UniformWarp)
	operands, _ := b.operands([]value{v.value, constant(fullMask)})
	return wrap[U32](b.define(OpMatchAny, TypeU32, Varying, operands...))
}

// WarpSync waits for all lanes of the warp, and makes their earlier writes to memory visible to all
// of them afterwards. Shuffles and votes do not: a WarpSync must stand between one lane's write and
// another's read.
func (b *Builder) WarpSync() {
	b.together(OpBarWarpSync, UniformWarp)
	b.append(OpBarWarpSync, Guard{Register: NoRegister}, constant(fullMask).operand)
}

// MembarCta keeps this thread's accesses to memory before it and those after it in this order for
// the other threads of the block. It does not wait, so WarpSync or BlockSync, which order memory
// too, are mostly the right choice.
func (b *Builder) MembarCta() { b.append(OpMembarCta, Guard{Register: NoRegister}) }

// BlockSync waits for all threads of the block, and makes their earlier writes to memory visible to
// all of them afterwards.
func (b *Builder) BlockSync() {
	b.together(OpBarSync, UniformBlock)
	b.append(OpBarSync, Guard{Register: NoRegister}, constant(0).operand)
}
