// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A window is 64 bytes in two vectors. One vector of AVX-512 makes no difference, as it takes as
// long to load and longer to make a mask of.
type window struct{ low, high VecVirtual }

const half = 32

// load fills it from m on.
func (w *window) load(m Mem) {
	w.low, w.high = YMM(), YMM()
	VMOVDQU(m, w.low)
	VMOVDQU(m.Offset(half), w.high)
}

// equal makes the mask of those of its bytes that those from m on equal. It overwrites t, which may
// be a register of m.
func (w *window) equal(m Mem, mask, t GPVirtual) {
	x, y := YMM(), YMM()
	VPCMPEQB(m, w.low, x)
	VPCMPEQB(m.Offset(half), w.high, y)
	VPMOVMSKB(x, mask.As32())
	VPMOVMSKB(y, t.As32())
	SHLQ(Imm(half), t)
	ORQ(t, mask)
}
