// SPDX-License-Identifier: Apache-2.0

//go:build !purego

#include "textflag.h"

// func repeatsNEON(page []byte, word uint64) bool
TEXT ·repeatsNEON(SB), NOSPLIT, $0-33
	MOVD page_base+0(FP), R0
	MOVD page_len+8(FP), R1
	MOVD word+24(FP), R2
	VDUP R2, V16.D2

	PCALIGN $16
turn:
	VLD1.P 64(R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	VEOR   V16.B16, V0.B16, V0.B16
	VEOR   V16.B16, V1.B16, V1.B16
	VEOR   V16.B16, V2.B16, V2.B16
	VEOR   V16.B16, V3.B16, V3.B16
	VORR   V1.B16, V0.B16, V0.B16
	VORR   V3.B16, V2.B16, V2.B16
	VORR   V2.B16, V0.B16, V0.B16
	VMOV   V0.D[0], R3
	VMOV   V0.D[1], R4
	ORR    R4, R3, R3
	CBNZ   R3, differs
	SUBS   $64, R1, R1
	BNE    turn
	MOVD   $1, R3
	MOVB   R3, ret+32(FP)
	RET

differs:
	MOVB ZR, ret+32(FP)
	RET

// COUNT adds the hits among the 16 bytes of its first register to the byte counters V20 to V23. The second register holds the
// bytes 24 before, the third those 16 before. A hit of a comparison is -1.
#define COUNT(NOW, FAR, NEAR) \
	VUSRA $7, NOW.B16, V20.B16        \
	VCMEQ V19.B16, NOW.B16, V18.B16   \
	VSUB  V18.B16, V21.B16, V21.B16   \
	VCMEQ FAR.B16, NOW.B16, V18.B16   \
	VSUB  V18.B16, V22.B16, V22.B16   \
	VCMEQ NEAR.D2, NOW.D2, V18.D2     \
	VSUB  V18.B16, V23.B16, V23.B16

// func countNEON(page []byte) uint64
TEXT ·countNEON(SB), NOSPLIT, $0-32
	MOVD page_base+0(FP), R0
	ADD  $128, R0, R0
	SUB  $24, R0, R1
	SUB  $16, R0, R2
	MOVD $8, R3
	MOVD $512, R4
	VEOR V19.B16, V19.B16, V19.B16
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16

	PCALIGN $16
turn:
	VLD1.P (R0)(R4), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P (R1)(R4), [V24.B16, V25.B16, V26.B16, V27.B16]
	VLD1.P (R2)(R4), [V28.B16, V29.B16, V30.B16, V31.B16]
	COUNT(V0, V24, V28)
	COUNT(V1, V25, V29)
	COUNT(V2, V26, V30)
	COUNT(V3, V27, V31)
	SUBS $1, R3, R3
	BNE  turn

	// A byte counter is at most 32, their sum at most 512.
	VUADDLV V20.B16, V20
	VUADDLV V21.B16, V21
	VUADDLV V22.B16, V22
	VUADDLV V23.B16, V23
	VMOV    V20.H[0], R5
	VMOV    V21.H[0], R6
	VMOV    V22.H[0], R7
	VMOV    V23.H[0], R8
	ORR     R6<<16, R5, R5
	ORR     R7<<32, R5, R5
	ORR     R8<<48, R5, R5
	MOVD    R5, ret+24(FP)
	RET
