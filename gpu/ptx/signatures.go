// SPDX-License-Identifier: Apache-2.0

package ptx

// Short names for the columns of the table.
var (
	tNone    []Type
	tPred    = []Type{TypePred}
	tPred2   = []Type{TypePred, TypePred}
	tU32     = []Type{TypeU32}
	tU32x2   = []Type{TypeU32, TypeU32}
	tU32x3   = []Type{TypeU32, TypeU32, TypeU32}
	tU32x4   = []Type{TypeU32, TypeU32, TypeU32, TypeU32}
	tU64     = []Type{TypeU64}
	tU64x2   = []Type{TypeU64, TypeU64}
	tU64x3   = []Type{TypeU64, TypeU64, TypeU64}
	tShift64 = []Type{TypeU64, TypeU32}
	tImm     = []Type{TypeImmediate}
	tShuffle = []Type{TypeU32, TypeU32, TypeImmediate, TypeImmediate}
	tVote    = []Type{TypePred, TypeImmediate}
)

// signatures is the table of opcodes, for the printer and the simulator.
var signatures = [opcodes]Signature{
	OpNop:    {Mnemonic: "nop"},
	OpBra:    {Mnemonic: "bra", Effect: EffectBranch},
	OpBraUni: {Mnemonic: "bra.uni", Effect: EffectBranch},
	OpRet:    {Mnemonic: "ret", Effect: EffectReturn},

	OpLdParamU32: plain("ld.param.u32", tU32, []Type{TypeParam}),
	OpLdParamU64: plain("ld.param.u64", tU64, []Type{TypeParam}),
	OpMovSpecial: plain("mov.u32", tU32, []Type{TypeSpecial}),
	OpMovArray:   plain("mov.u32", []Type{TypeShared32}, []Type{TypeArray}),
	OpMovU32:     plain("mov.u32", tU32, tU32),
	OpMovU64:     plain("mov.u64", tU64, tU64),
	OpMovPred:    plain("mov.pred", tPred, tPred),
	OpPack:       plain("mov.b64", tU64, tU32x2),
	OpUnpack:     plain("mov.b64", tU32x2, tU64),
	OpCvtU64U32:  plain("cvt.u64.u32", tU64, tU32),
	OpCvtU32U64:  plain("cvt.u32.u64", tU32, tU64),

	OpAddU32:      plain("add.u32", tU32, tU32x2),
	OpSubU32:      plain("sub.u32", tU32, tU32x2),
	OpMulLoU32:    plain("mul.lo.u32", tU32, tU32x2),
	OpMadLoU32:    plain("mad.lo.u32", tU32, tU32x3),
	OpMadWideU32:  plain("mad.wide.u32", tU64, []Type{TypeU32, TypeU32, TypeU64}),
	OpDivU32:      plain("div.u32", tU32, tU32x2),
	OpMinU32:      plain("min.u32", tU32, tU32x2),
	OpMaxU32:      plain("max.u32", tU32, tU32x2),
	OpAndB32:      plain("and.b32", tU32, tU32x2),
	OpOrB32:       plain("or.b32", tU32, tU32x2),
	OpXorB32:      plain("xor.b32", tU32, tU32x2),
	OpShlB32:      plain("shl.b32", tU32, tU32x2),
	OpShrU32:      plain("shr.u32", tU32, tU32x2),
	OpShfRWrapB32: plain("shf.r.wrap.b32", tU32, tU32x3),
	OpPopcB32:     plain("popc.b32", tU32, tU32),
	OpClzB32:      plain("clz.b32", tU32, tU32),
	OpBfindU32:    plain("bfind.u32", tU32, tU32),
	OpBrevB32:     plain("brev.b32", tU32, tU32),
	OpPrmtB32:     plain("prmt.b32", tU32, tU32x3),
	OpBfeU32:      plain("bfe.u32", tU32, tU32x3),

	OpAddU64:   plain("add.u64", tU64, tU64x2),
	OpMulLoU64: plain("mul.lo.u64", tU64, tU64x2),
	OpAndB64:   plain("and.b64", tU64, tU64x2),
	OpOrB64:    plain("or.b64", tU64, tU64x2),
	OpXorB64:   plain("xor.b64", tU64, tU64x2),
	OpShlB64:   plain("shl.b64", tU64, tShift64),
	OpShrU64:   plain("shr.u64", tU64, tShift64),

	OpSetpEqU32: plain("setp.eq.u32", tPred, tU32x2),
	OpSetpNeU32: plain("setp.ne.u32", tPred, tU32x2),
	OpSetpLtU32: plain("setp.lt.u32", tPred, tU32x2),
	OpSetpLeU32: plain("setp.le.u32", tPred, tU32x2),
	OpSetpGtU32: plain("setp.gt.u32", tPred, tU32x2),
	OpSetpGeU32: plain("setp.ge.u32", tPred, tU32x2),
	OpSetpLtS32: plain("setp.lt.s32", tPred, tU32x2),
	OpSetpGtS32: plain("setp.gt.s32", tPred, tU32x2),
	OpSelpU32:   plain("selp.u32", tU32, []Type{TypeU32, TypeU32, TypePred}),
	OpSelpU64:   plain("selp.u64", tU64, []Type{TypeU64, TypeU64, TypePred}),
	OpAndPred:   plain("and.pred", tPred, tPred2),
	OpOrPred:    plain("or.pred", tPred, tPred2),
	OpNotPred:   plain("not.pred", tPred, tPred),

	OpLdGlobalU8:    load("ld.global.u8", SpaceGlobal, 1, 1),
	OpLdGlobalU16:   load("ld.global.u16", SpaceGlobal, 2, 1),
	OpLdGlobalU32:   load("ld.global.u32", SpaceGlobal, 4, 1),
	OpLdGlobalU64:   load("ld.global.u64", SpaceGlobal, 8, 1),
	OpLdGlobalV4U32: load("ld.global.v4.u32", SpaceGlobal, 4, 4),
	OpStGlobalU8:    store("st.global.u8", SpaceGlobal, 1, 1),
	OpStGlobalU16:   store("st.global.u16", SpaceGlobal, 2, 1),
	OpStGlobalU32:   store("st.global.u32", SpaceGlobal, 4, 1),
	OpStGlobalU64:   store("st.global.u64", SpaceGlobal, 8, 1),
	OpStGlobalV4U32: store("st.global.v4.u32", SpaceGlobal, 4, 4),
	OpLdSharedU8:    load("ld.shared.u8", SpaceShared, 1, 1),
	OpLdSharedU16:   load("ld.shared.u16", SpaceShared, 2, 1),
	OpLdSharedU32:   load("ld.shared.u32", SpaceShared, 4, 1),
	OpLdSharedU64:   load("ld.shared.u64", SpaceShared, 8, 1),
	OpLdSharedV4U32: load("ld.shared.v4.u32", SpaceShared, 4, 4),
	OpStSharedU8:    store("st.shared.u8", SpaceShared, 1, 1),
	OpStSharedU16:   store("st.shared.u16", SpaceShared, 2, 1),
	OpStSharedU32:   store("st.shared.u32", SpaceShared, 4, 1),
	OpStSharedU64:   store("st.shared.u64", SpaceShared, 8, 1),
	OpStSharedV4U32: store("st.shared.v4.u32", SpaceShared, 4, 4),

	OpLdVolatileSharedU32: relaxed(load("ld.volatile.shared.u32", SpaceShared, 4, 1)),
	OpStVolatileGlobalU32: relaxed(store("st.volatile.global.u32", SpaceGlobal, 4, 1)),

	OpAtomGlobalAddU32: atomic("atom.global.add.u32", SpaceGlobal, 4, 1),
	OpAtomSharedAddU32: atomic("atom.shared.add.u32", SpaceShared, 4, 1),
	OpAtomSharedOrB32:  atomic("atom.shared.or.b32", SpaceShared, 4, 1),

	OpShflIdx:     warp("shfl.sync.idx.b32", tU32, tShuffle),
	OpShflUp:      warp("shfl.sync.up.b32", tU32, tShuffle),
	OpShflBfly:    warp("shfl.sync.bfly.b32", tU32, tShuffle),
	OpVoteBallot:  warp("vote.sync.ballot.b32", tU32, tVote),
	OpVoteAny:     warp("vote.sync.any.pred", tPred, tVote),
	OpVoteAll:     warp("vote.sync.all.pred", tPred, tVote),
	OpMatchAny:    warp("match.any.sync.b32", tU32, []Type{TypeU32, TypeImmediate}),
	OpBarWarpSync: warp("bar.warp.sync", tNone, tImm),
	OpBarSync:     {Mnemonic: "bar.sync", Src: tImm, Effect: EffectBlock},
	OpMembarCta:   {Mnemonic: "membar.cta", Effect: EffectFence},
}

func plain(mnemonic string, dst, src []Type) Signature {
	return Signature{Mnemonic: mnemonic, Dst: dst, Src: src}
}

func warp(mnemonic string, dst, src []Type) Signature {
	return Signature{Mnemonic: mnemonic, Dst: dst, Src: src, Effect: EffectWarp}
}

// elements returns the types of the registers of a memory access: U32 for elements of up to four
// bytes.
func elements(element, n int) []Type {
	types := make([]Type, n)
	for i := range types {
		types[i] = TypeU32
		if element == 8 {
			types[i] = TypeU64
		}
	}
	return types
}

func address(space Space) Type {
	if space == SpaceShared {
		return TypeAddressShared
	}
	return TypeAddressGlobal
}

func load(mnemonic string, space Space, element, n int) Signature {
	return Signature{Mnemonic: mnemonic, Dst: elements(element, n), Src: []Type{address(space)}, Effect: EffectLoad, Space: space, Element: element, Elements: n}
}

func store(mnemonic string, space Space, element, n int) Signature {
	src := append([]Type{address(space)}, elements(element, n)...)
	return Signature{Mnemonic: mnemonic, Src: src, Effect: EffectStore, Space: space, Element: element, Elements: n}
}

// atomic takes the number of operands after the address; it accesses one element.
func atomic(mnemonic string, space Space, element, operands int) Signature {
	src := append([]Type{address(space)}, elements(element, operands)...)
	return Signature{Mnemonic: mnemonic, Dst: elements(element, 1), Src: src, Effect: EffectAtomic, Space: space, Element: element, Elements: 1, Relaxed: true}
}

func relaxed(s Signature) Signature {
	s.Relaxed = true
	return s
}
