// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/bits"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// wideFuncs do for 64 bits what rowFuncs do for 32.
var wideFuncs = map[ptx.Opcode]wideFunc{
	ptx.OpMovU64:     moveWide,
	ptx.OpLdParamU64: moveWide,
	ptx.OpAddU64: func(d, a, b, _ *wide) {
		for i := range d {
			d[i] = a[i] + b[i]
		}
	},
	ptx.OpMulLoU64: wide2(func(a, b uint64) uint64 { return a * b }),
	ptx.OpAndB64:   wide2(func(a, b uint64) uint64 { return a & b }),
	ptx.OpOrB64:    wide2(func(a, b uint64) uint64 { return a | b }),
	ptx.OpXorB64:   wide2(func(a, b uint64) uint64 { return a ^ b }),
}

func moveWide(d, a, _, _ *wide) { *d = *a }

func wide2(f func(a, b uint64) uint64) wideFunc {
	return func(d, a, b, _ *wide) {
		for i := range d {
			d[i] = f(a[i], b[i])
		}
	}
}

// mixedFuncs are the instructions whose operands differ in width. They touch
// only the lanes of m.
var mixedFuncs = map[ptx.Opcode]runFunc{
	ptx.OpPack: toWide(func(w *warp, in *instr, i int) uint64 {
		return uint64(w.r32[in.src[1]][i])<<32 | uint64(w.r32[in.src[0]][i])
	}),
	ptx.OpCvtU64U32: toWide(func(w *warp, in *instr, i int) uint64 { return uint64(w.r32[in.src[0]][i]) }),
	ptx.OpMadWideU32: toWide(func(w *warp, in *instr, i int) uint64 {
		return uint64(w.r32[in.src[0]][i])*uint64(w.r32[in.src[1]][i]) + w.r64[in.src[2]][i]
	}),
	ptx.OpShlB64: toWide(func(w *warp, in *instr, i int) uint64 { return w.r64[in.src[0]][i] << w.r32[in.src[1]][i] }),
	ptx.OpShrU64: toWide(func(w *warp, in *instr, i int) uint64 { return w.r64[in.src[0]][i] >> w.r32[in.src[1]][i] }),
	ptx.OpSelpU64: toWide(func(w *warp, in *instr, i int) uint64 {
		if w.preds[in.src[2]]>>i&1 != 0 {
			return w.r64[in.src[0]][i]
		}
		return w.r64[in.src[1]][i]
	}),
	ptx.OpSelpU32: func(w *warp, in *instr, m uint32) {
		d, a, b, p := &w.r32[in.dst[0]], &w.r32[in.src[0]], &w.r32[in.src[1]], w.preds[in.src[2]]
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			v := b[i] // d may be a or b
			if p>>i&1 != 0 {
				v = a[i]
			}
			d[i] = v
		}
	},
	ptx.OpCvtU32U64: toRow(func(w *warp, in *instr, i int) uint32 { return uint32(w.r64[in.src[0]][i]) }),
	ptx.OpUnpack: func(w *warp, in *instr, m uint32) {
		lo, hi, from := &w.r32[in.dst[0]], &w.r32[in.dst[1]], &w.r64[in.src[0]]
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			lo[i&31], hi[i&31] = uint32(from[i&31]), uint32(from[i&31]>>32)
		}
	},
}

func toWide(f func(w *warp, in *instr, lane int) uint64) runFunc {
	return func(w *warp, in *instr, m uint32) {
		for d := &w.r64[in.dst[0]]; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			d[i&31] = f(w, in, i)
		}
	}
}

func toRow(f func(w *warp, in *instr, lane int) uint32) runFunc {
	return func(w *warp, in *instr, m uint32) {
		for d := &w.r32[in.dst[0]]; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			d[i&31] = f(w, in, i)
		}
	}
}
