// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/bits"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// A row is a register of 32 bits in the lanes of a warp, a wide one of 64.
type (
	row  = [WarpSize]uint32
	wide = [WarpSize]uint64
)

type (
	rowFunc  func(d, a, b, c, e *row)
	wideFunc func(d, a, b, c *wide)
)

// rowFuncs compute a row from rows, for all lanes: who runs a part of them
// throws the rest away. Those that kernels live on have loops of their own, the
// others call a function a lane.
var rowFuncs = map[ptx.Opcode]rowFunc{
	ptx.OpMovU32:     moveRow,
	ptx.OpMovSpecial: moveRow,
	ptx.OpMovArray:   moveRow,
	ptx.OpLdParamU32: moveRow,
	ptx.OpAddU32: func(d, a, b, _, _ *row) {
		for i := range d {
			d[i] = a[i] + b[i]
		}
	},
	ptx.OpSubU32: func(d, a, b, _, _ *row) {
		for i := range d {
			d[i] = a[i] - b[i]
		}
	},
	ptx.OpMulLoU32: func(d, a, b, _, _ *row) {
		for i := range d {
			d[i] = a[i] * b[i]
		}
	},
	ptx.OpMadLoU32: func(d, a, b, c, _ *row) {
		for i := range d {
			d[i] = a[i]*b[i] + c[i]
		}
	},
	ptx.OpMinU32: func(d, a, b, _, _ *row) {
		for i := range d {
			d[i] = min(a[i], b[i])
		}
	},
	ptx.OpMaxU32: func(d, a, b, _, _ *row) {
		for i := range d {
			d[i] = max(a[i], b[i])
		}
	},
	ptx.OpAndB32: func(d, a, b, _, _ *row) {
		for i := range d {
			d[i] = a[i] & b[i]
		}
	},
	ptx.OpOrB32: func(d, a, b, _, _ *row) {
		for i := range d {
			d[i] = a[i] | b[i]
		}
	},
	ptx.OpXorB32: func(d, a, b, _, _ *row) {
		for i := range d {
			d[i] = a[i] ^ b[i]
		}
	},
	ptx.OpShlB32: func(d, a, b, _, _ *row) {
		for i := range d {
			d[i] = a[i] << b[i]
		}
	},
	ptx.OpShrU32: func(d, a, b, _, _ *row) {
		for i := range d {
			d[i] = a[i] >> b[i]
		}
	},
	ptx.OpShfRWrapB32: func(d, a, b, c, _ *row) {
		for i := range d {
			d[i] = uint32((uint64(b[i])<<32 | uint64(a[i])) >> (c[i] & 31))
		}
	},
	ptx.OpPopcB32:  each1(func(a uint32) uint32 { return uint32(bits.OnesCount32(a)) }),
	ptx.OpClzB32:   each1(func(a uint32) uint32 { return uint32(bits.LeadingZeros32(a)) }),
	ptx.OpBfindU32: each1(func(a uint32) uint32 { return uint32(31 - bits.LeadingZeros32(a)) }),
	ptx.OpBrevB32:  each1(bits.Reverse32),
	ptx.OpDivU32:   each2(divide),
	ptx.OpPrmtB32:  each3(permute),
	ptx.OpBfeU32:   each3(extract),
}

func moveRow(d, a, _, _, _ *row) { *d = *a }

func each1(f func(uint32) uint32) rowFunc {
	return func(d, a, _, _, _ *row) {
		for i := range d {
			d[i] = f(a[i])
		}
	}
}

func each2(f func(a, b uint32) uint32) rowFunc {
	return func(d, a, b, _, _ *row) {
		for i := range d {
			d[i] = f(a[i], b[i])
		}
	}
}

func each3(f func(a, b, c uint32) uint32) rowFunc {
	return func(d, a, b, c, _ *row) {
		for i := range d {
			d[i] = f(a[i], b[i], c[i])
		}
	}
}

// Division by zero, which PTX leaves open, was refused before in the lanes that count.
func divide(a, b uint32) uint32 {
	if b == 0 {
		return ^uint32(0)
	}
	return a / b
}

// permute is prmt in its default mode: each nibble of c picks one of the eight
// bytes of b and a, or spreads its sign.
func permute(a, b, c uint32) uint32 {
	from := uint64(b)<<32 | uint64(a)
	var d uint32
	for i := range 4 {
		sel := c >> (4 * i) & 15
		v := uint8(from >> (8 * (sel & 7)))
		if sel&8 != 0 {
			v = uint8(int8(v) >> 7)
		}
		d |= uint32(v) << (8 * i)
	}
	return d
}

// extract is bfe.u32: c bits of a from bit b on, with zeros for what a lacks.
func extract(a, b, c uint32) uint32 {
	b, c = b&255, c&255
	return a >> b & (1<<c - 1)
}
