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

// signatures is the table from which both the printer and the simulator learn what an opcode is.
var signatures = [opcodes]Signature{
	OpNop:    {Mnemonic: "nop"},
	OpBra:    {Mnemonic: "bra", Effect: EffectBranch},
	OpBraUni: {Mnemonic: "bra.uni", Effect: EffectBranch},
	OpRet:    {Mnemonic: "ret", Effect: EffectReturn},

	OpLdParamU32: value("ld.param.u32", tU32, []Type{TypeParam}),
	OpLdParamU64: value("ld.param.u64", tU64, []Type{TypeParam}),
	OpMovSpecial: value("mov.u32", tU32, []Type{TypeSpecial}),
	OpMovArray:   value("mov.u32", []Type{TypeShared32}, []Type{TypeArray}),
	OpMovU32:     value("mov.u32", tU32, tU32),
	OpMovU64:     value("mov.u64", tU64, tU64),
	OpMovPred:    value("mov.pred", tPred, tPred),
	OpPack:       value("mov.b64", tU64, tU32x2),
	OpUnpack:     value("mov.b64", tU32x2, tU64),
	OpCvtU64U32:  value("cvt.u64.u32", tU64, tU32),
	OpCvtU32U64:  value("cvt.u32.u64", tU32, tU64),

	OpAddU32:      value("add.u32", tU32, tU32x2),
	OpSubU32:      value("sub.u32", tU32, tU32x2),
	OpMulLoU32:    value("mul.lo.u32", tU32, tU32x2),
	OpMulHiU32:    value("mul.hi.u32", tU32, tU32x2),
	OpMulWideU32:  value("mul.wide.u32", tU64, tU32x2),
	OpMadLoU32:    value("mad.lo.u32", tU32, tU32x3),
	OpMadWideU32:  value("mad.wide.u32", tU64, []Type{TypeU32, TypeU32, TypeU64}),
	OpDivU32:      value("div.u32", tU32, tU32x2),
	OpRemU32:      value("rem.u32", tU32, tU32x2),
	OpMinU32:      value("min.u32", tU32, tU32x2),
	OpMaxU32:      value("max.u32", tU32, tU32x2),
	OpAndB32:      value("and.b32", tU32, tU32x2),
	OpOrB32:       value("or.b32", tU32, tU32x2),
	OpXorB32:      value("xor.b32", tU32, tU32x2),
	OpNotB32:      value("not.b32", tU32, tU32),
	OpShlB32:      value("shl.b32", tU32, tU32x2),
	OpShrU32:      value("shr.u32", tU32, tU32x2),
	OpShrS32:      value("shr.s32", tU32, tU32x2),
	OpShfLWrapB32: value("shf.l.wrap.b32", tU32, tU32x3),
	OpShfRWrapB32: value("shf.r.wrap.b32", tU32, tU32x3),
	OpPopcB32:     value("popc.b32", tU32, tU32),
	OpClzB32:      value("clz.b32", tU32, tU32),
	OpBfindU32:    value("bfind.u32", tU32, tU32),
	OpBrevB32:     value("brev.b32", tU32, tU32),
	OpPrmtB32:     value("prmt.b32", tU32, tU32x3),
	OpBfeU32:      value("bfe.u32", tU32, tU32x3),
	OpBfiB32:      value("bfi.b32", tU32, tU32x4),

	OpAddU64:   value("add.u64", tU64, tU64x2),
	OpSubU64:   value("sub.u64", tU64, tU64x2),
	OpMulLoU64: value("mul.lo.u64", tU64, tU64x2),
	OpMulHiU64: value("mul.hi.u64", tU64, tU64x2),
	OpMadLoU64: value("mad.lo.u64", tU64, tU64x3),
	OpMinU64:   value("min.u64", tU64, tU64x2),
	OpMaxU64:   value("max.u64", tU64, tU64x2),
	OpAndB64:   value("and.b64", tU64, tU64x2),
	OpOrB64:    value("or.b64", tU64, tU64x2),
	OpXorB64:   value("xor.b64", tU64, tU64x2),
	OpNotB64:   value("not.b64", tU64, tU64),
	OpShlB64:   value("shl.b64", tU64, tShift64),
	OpShrU64:   value("shr.u64", tU64, tShift64),
	OpPopcB64:  value("popc.b64", tU32, tU64),
	OpClzB64:   value("clz.b64", tU32, tU64),
	OpBrevB64:  value("brev.b64", tU64, tU64),

	OpSetpEqU32: value("setp.eq.u32", tPred, tU32x2),
	OpSetpNeU32: value("setp.ne.u32", tPred, tU32x2),
	OpSetpLtU32: value("setp.lt.u32", tPred, tU32x2),
	OpSetpLeU32: value("setp.le.u32", tPred, tU32x2),
	OpSetpGtU32: value("setp.gt.u32", tPred, tU32x2),
	OpSetpGeU32: value("setp.ge.u32", tPred, tU32x2),
	OpSetpLtS32: value("setp.lt.s32", tPred, tU32x2),
	OpSetpLeS32: value("setp.le.s32", tPred, tU32x2),
	OpSetpGtS32: value("setp.gt.s32", tPred, tU32x2),
	OpSetpGeS32: value("setp.ge.s32", tPred, tU32x2),
	OpSetpEqU64: value("setp.eq.u64", tPred, tU64x2),
	OpSetpNeU64: value("setp.ne.u64", tPred, tU64x2),
	OpSetpLtU64: value("setp.lt.u64", tPred, tU64x2),
	OpSetpLeU64: value("setp.le.u64", tPred, tU64x2),
	OpSetpGtU64: value("setp.gt.u64", tPred, tU64x2),
	OpSetpGeU64: value("setp.ge.u64", tPred, tU64x2),
	OpSelpU32:   value("selp.u32", tU32, []Type{TypeU32, TypeU32, TypePred}),
	OpSelpU64:   value("selp.u64", tU64, []Type{TypeU64, TypeU64, TypePred}),
	OpAndPred:   value("and.pred", tPred, tPred2),
	OpOrPred:    value("or.pred", tPred, tPred2),
	OpXorPred:   value("xor.pred", tPred, tPred2),
	OpNotPred:   value("not.pred", tPred, tPred),

	OpLdGlobalU8:    load("ld.global.u8", SpaceGlobal, 1, 1),
	OpLdGlobalU16:   load("ld.global.u16", SpaceGlobal, 2, 1),
	OpLdGlobalU32:   load("ld.global.u32", SpaceGlobal, 4, 1),
	OpLdGlobalU64:   load("ld.global.u64", SpaceGlobal, 8, 1),
	OpLdGlobalV2U32: load("ld.global.v2.u32", SpaceGlobal, 4, 2),
	OpLdGlobalV4U32: load("ld.global.v4.u32", SpaceGlobal, 4, 4),
	OpStGlobalU8:    store("st.global.u8", SpaceGlobal, 1, 1),
	OpStGlobalU16:   store("st.global.u16", SpaceGlobal, 2, 1),
	OpStGlobalU32:   store("st.global.u32", SpaceGlobal, 4, 1),
	OpStGlobalU64:   store("st.global.u64", SpaceGlobal, 8, 1),
	OpStGlobalV2U32: store("st.global.v2.u32", SpaceGlobal, 4, 2),
	OpStGlobalV4U32: store("st.global.v4.u32", SpaceGlobal, 4, 4),
	OpLdSharedU8:    load("ld.shared.u8", SpaceShared, 1, 1),
	OpLdSharedU16:   load("ld.shared.u16", SpaceShared, 2, 1),
	OpLdSharedU32:   load("ld.shared.u32", SpaceShared, 4, 1),
	OpLdSharedU64:   load("ld.shared.u64", SpaceShared, 8, 1),
	OpLdSharedV2U32: load("ld.shared.v2.u32", SpaceShared, 4, 2),
	OpLdSharedV4U32: load("ld.shared.v4.u32", SpaceShared, 4, 4),
	OpStSharedU8:    store("st.shared.u8", SpaceShared, 1, 1),
	OpStSharedU16:   store("st.shared.u16", SpaceShared, 2, 1),
	OpStSharedU32:   store("st.shared.u32", SpaceShared, 4, 1),
	OpStSharedU64:   store("st.shared.u64", SpaceShared, 8, 1),
	OpStSharedV2U32: store("st.shared.v2.u32", SpaceShared, 4, 2),
	OpStSharedV4U32: store("st.shared.v4.u32", SpaceShared, 4, 4),

	OpLdRelaxedSharedU16: relaxed(load("ld.relaxed.cta.shared.u16", SpaceShared, 2, 1)),
	OpLdRelaxedSharedU32: relaxed(load("ld.relaxed.cta.shared.u32", SpaceShared, 4, 1)),
	OpStRelaxedSharedU16: relaxed(store("st.relaxed.cta.shared.u16", SpaceShared, 2, 1)),
	OpStRelaxedSharedU32: relaxed(store("st.relaxed.cta.shared.u32", SpaceShared, 4, 1)),

	OpAtomGlobalAddU32:  atomic("atom.global.add.u32", SpaceGlobal, 4, 1),
	OpAtomGlobalAddU64:  atomic("atom.global.add.u64", SpaceGlobal, 8, 1),
	OpAtomGlobalMaxU32:  atomic("atom.global.max.u32", SpaceGlobal, 4, 1),
	OpAtomSharedAddU32:  atomic("atom.shared.add.u32", SpaceShared, 4, 1),
	OpAtomSharedMinU32:  atomic("atom.shared.min.u32", SpaceShared, 4, 1),
	OpAtomSharedMaxU32:  atomic("atom.shared.max.u32", SpaceShared, 4, 1),
	OpAtomSharedAndB32:  atomic("atom.shared.and.b32", SpaceShared, 4, 1),
	OpAtomSharedOrB32:   atomic("atom.shared.or.b32", SpaceShared, 4, 1),
	OpAtomSharedExchB32: atomic("atom.shared.exch.b32", SpaceShared, 4, 1),
	OpAtomSharedCasB32:  atomic("atom.shared.cas.b32", SpaceShared, 4, 2),

	OpShflIdx:     warp("shfl.sync.idx.b32", tU32, tShuffle),
	OpShflUp:      warp("shfl.sync.up.b32", tU32, tShuffle),
	OpShflDown:    warp("shfl.sync.down.b32", tU32, tShuffle),
	OpShflBfly:    warp("shfl.sync.bfly.b32", tU32, tShuffle),
	OpVoteBallot:  warp("vote.sync.ballot.b32", tU32, tVote),
	OpVoteAny:     warp("vote.sync.any.pred", tPred, tVote),
	OpVoteAll:     warp("vote.sync.all.pred", tPred, tVote),
	OpMatchAny:    warp("match.any.sync.b32", tU32, []Type{TypeU32, TypeImmediate}),
	OpBarWarpSync: warp("bar.warp.sync", tNone, tImm),
	OpBarSync:     {Mnemonic: "bar.sync", Src: tImm, Effect: EffectBlock},
}

func value(mnemonic string, dst, src []Type) Signature {
	return Signature{Mnemonic: mnemonic, Dst: dst, Src: src}
}

func warp(mnemonic string, dst, src []Type) Signature {
	return Signature{Mnemonic: mnemonic, Dst: dst, Src: src, Effect: EffectWarp}
}

// elements are the registers that hold what a memory access moves: U32 for everything of up to four bytes.
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

// atomic takes the number of operands besides the address; it always accesses one element.
func atomic(mnemonic string, space Space, element, operands int) Signature {
	src := append([]Type{address(space)}, elements(element, operands)...)
	return Signature{Mnemonic: mnemonic, Dst: elements(element, 1), Src: src, Effect: EffectAtomic, Space: space, Element: element, Elements: 1, Relaxed: true}
}

func relaxed(s Signature) Signature {
	s.Relaxed = true
	return s
}
