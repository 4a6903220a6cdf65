// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/bits"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// exchanges are the instructions that all lanes of a warp execute together. They
// order no memory, except for the barrier.
var exchanges = map[ptx.Opcode]runFunc{
	ptx.OpBarWarpSync: func(w *warp, _ *instr, _ uint32) {
		w.block.tick()
		w.synced = w.block.clock
	},
	ptx.OpVoteBallot: func(w *warp, in *instr, m uint32) {
		v := w.preds[in.src[0]] & m
		for i := range w.r32[in.dst[0]] {
			w.r32[in.dst[0]][i] = v
		}
	},
	ptx.OpVoteAny: func(w *warp, in *instr, m uint32) {
		w.setPred(in, m, allOnes(w.preds[in.src[0]]&m != 0))
	},
	ptx.OpVoteAll: func(w *warp, in *instr, m uint32) {
		w.setPred(in, m, allOnes(w.preds[in.src[0]]&m == m))
	},
	ptx.OpMatchAny: matchAny,
	ptx.OpShflIdx:  shuffle(func(lane, by, segments uint32) uint32 { return lane&segments | by&^segments }),
	ptx.OpShflUp:   shuffle(func(lane, by, _ uint32) uint32 { return lane - by }),
	ptx.OpShflBfly: shuffle(func(lane, by, _ uint32) uint32 { return lane ^ by }),
}

func allOnes(yes bool) uint32 {
	if yes {
		return full
	}
	return 0
}

func matchAny(w *warp, in *instr, m uint32) {
	a := w.r32[in.src[0]] // a copy: the result may go to the same register
	var result row
	for rest := m; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros32(rest)
		for j := range a {
			if a[j] == a[i] {
				result[i] |= 1 << j & m
			}
		}
	}
	w.r32[in.dst[0]] = result
}

// shuffle gives each lane the value of another. In PTX's terms, in.control is
// c: the clamp in bits 0 to 4, the mask of segments in bits 8 to 12.
func shuffle(from func(lane, by, segments uint32) uint32) runFunc {
	return func(w *warp, in *instr, m uint32) {
		a, by, result := &w.r32[in.src[0]], &w.r32[in.src[1]], row{}
		clamp, segments := in.control&31, in.control>>8&31
		up := w.block.program.source[w.at].Op == ptx.OpShflUp
		for lane := range uint32(WarpSize) {
			last := lane&segments | clamp&^segments
			j := from(lane, by[lane]&31, segments)
			if up && int32(j) < int32(last) || !up && j > last {
				j = lane
			}
			result[lane] = a[j&31]
		}
		w.r32[in.dst[0]] = result
	}
}
