// SPDX-License-Identifier: Apache-2.0

//go:build !purego

#include "textflag.h"

// For each distance below 16, the shuffle that repeats so many bytes over a vector, and behind these, from byte 256 on, how many bytes of the
// vector are whole repetitions.
DATA shuffles<>+0(SB)/8, $0x0000000000000000
DATA shuffles<>+8(SB)/8, $0x0000000000000000
DATA shuffles<>+16(SB)/8, $0x0000000000000000
DATA shuffles<>+24(SB)/8, $0x0000000000000000
DATA shuffles<>+32(SB)/8, $0x0100010001000100
DATA shuffles<>+40(SB)/8, $0x0100010001000100
DATA shuffles<>+48(SB)/8, $0x0100020100020100
DATA shuffles<>+56(SB)/8, $0x0002010002010002
DATA shuffles<>+64(SB)/8, $0x0302010003020100
DATA shuffles<>+72(SB)/8, $0x0302010003020100
DATA shuffles<>+80(SB)/8, $0x0201000403020100
DATA shuffles<>+88(SB)/8, $0x0004030201000403
DATA shuffles<>+96(SB)/8, $0x0100050403020100
DATA shuffles<>+104(SB)/8, $0x0302010005040302
DATA shuffles<>+112(SB)/8, $0x0006050403020100
DATA shuffles<>+120(SB)/8, $0x0100060504030201
DATA shuffles<>+128(SB)/8, $0x0706050403020100
DATA shuffles<>+136(SB)/8, $0x0706050403020100
DATA shuffles<>+144(SB)/8, $0x0706050403020100
DATA shuffles<>+152(SB)/8, $0x0605040302010008
DATA shuffles<>+160(SB)/8, $0x0706050403020100
DATA shuffles<>+168(SB)/8, $0x0504030201000908
DATA shuffles<>+176(SB)/8, $0x0706050403020100
DATA shuffles<>+184(SB)/8, $0x04030201000a0908
DATA shuffles<>+192(SB)/8, $0x0706050403020100
DATA shuffles<>+200(SB)/8, $0x030201000b0a0908
DATA shuffles<>+208(SB)/8, $0x0706050403020100
DATA shuffles<>+216(SB)/8, $0x0201000c0b0a0908
DATA shuffles<>+224(SB)/8, $0x0706050403020100
DATA shuffles<>+232(SB)/8, $0x01000d0c0b0a0908
DATA shuffles<>+240(SB)/8, $0x0706050403020100
DATA shuffles<>+248(SB)/8, $0x000e0d0c0b0a0908
DATA shuffles<>+256(SB)/8, $0x0e0c0f100f101000
DATA shuffles<>+264(SB)/8, $0x0f0e0d0c0b0a0910
GLOBL shuffles<>(SB), RODATA|NOPTR, $272

#define op R0
#define ip R1
#define dst R2
#define src R3
#define readLimit R4
#define writeLimit R5
#define end R6
#define table R7
#define token R8
#define literals R9
#define length R10
#define distance R11
#define from R12
#define ipWas R13
#define opWas R14
#define a R15
#define b R19

// A match of up to 16 bytes that lies 8 bytes back at least. Its length less 4 is in length, and others go elsewhere.
#define MATCH(long, near, next) \
	AND  $15, length;        \
	SUB  distance, op, from; \
	CMP  dst, from;          \
	BLO  leave;              \
	CMP  $12, length;        \
	BHI  long;               \
	CMP  $8, distance;       \
	BLO  near;               \
	MOVD (from), a;          \
	MOVD a, (op);            \
	MOVD 8(from), a;         \
	MOVD a, 8(op);           \
	ADD  length, op;         \
	ADD  $4, op;             \
	B    next

// Repeats the first bytes of V0 over it, as many as distance says.
#define SHUFFLE \
	ADD   distance<<4, table, a; \
	FMOVQ (a), F1;               \
	VTBL  V1.B16, [V0.B16], V0.B16

// A match of up to 16 bytes that lies less than 8 bytes back.
#define NEAR(next) \
	CBZ   distance, leave; \
	FMOVD (from), F0;      \
	SHUFFLE;               \
	FMOVQ F0, (op);        \
	ADD   length, op;      \
	ADD   $4, op;          \
	B     next

// func decodeBlockNEON(dst, src []byte) (written, read int)
//
// The margins are those of codec/_asm/lz4/decode.go, which says why the loop is as it is.
TEXT ·decodeBlockNEON(SB), NOSPLIT, $0-64
	MOVD dst_base+0(FP), op
	MOVD dst_len+8(FP), writeLimit
	MOVD src_base+24(FP), ip
	MOVD src_len+32(FP), end
	MOVD $shuffles<>(SB), table
	MOVD op, dst
	MOVD ip, src
	ADD  op, writeLimit
	SUB  $32, writeLimit
	ADD  ip, end
	SUB  $18, end, readLimit
	B    reload

sequence:
	CMP readLimit, ip
	BHI tail

loaded:
	MOVD  ip, ipWas
	MOVD  op, opWas
	CMP   writeLimit, op
	BHI   tail
	LSR   $4, token, literals
	CMP   $0xF0, token
	BHS   manyLiterals
	FMOVQ 1(ip), F0
	FMOVQ F0, (op)
	ADD   literals, ip, a
	MOVHU 1(a), distance
	MOVD  token, length

	// The next sequence waits for its token and nothing else, unless this one has bytes of length.
	MOVBU 3(a), token
	ADD   $3, a, ip
	ADD   literals, op

match:
	MATCH(long, near, sequence)

near:
	NEAR(sequence)

long:
	CMP $15, length
	BNE measured

lengthByte:
	CMP   end, ip
	BHS   leave
	MOVBU (ip), a
	ADD   $1, ip
	ADD   a, length
	CMP   $255, a
	BEQ   lengthByte

measured:
	// length becomes the end of the match.
	ADD op, length
	ADD $4, length
	CMP writeLimit, length
	BHI leave
	CMP $16, distance
	BLO nearCopy

farCopy:
	FMOVQ (from), F0
	FMOVQ F0, (op)
	FMOVQ 16(from), F0
	FMOVQ F0, 16(op)
	ADD   $32, from
	ADD   $32, op
	CMP   length, op
	BLO   farCopy

copied:
	MOVD length, op

reload:
	CMP   readLimit, ip
	BHI   tail
	MOVBU (ip), token
	B     loaded

nearCopy:
	CBZ   distance, leave
	FMOVQ (from), F0
	ADD   distance, table, a
	MOVBU 256(a), b
	SHUFFLE

again:
	FMOVQ F0, (op)
	ADD   b, op
	FMOVQ F0, (op)
	ADD   b, op
	CMP   length, op
	BLO   again
	B     copied

manyLiterals:
	ADD $1, ip

literalByte:
	CMP   end, ip
	BHS   leave
	MOVBU (ip), a
	ADD   $1, ip
	ADD   a, literals
	CMP   $255, a
	BEQ   literalByte

	// 32 bytes must be left behind the literals in both buffers.
	ADD  literals, ip, a
	ADD  $14, a
	CMP  readLimit, a
	BHI  leave
	ADD  literals, op, a
	CMP  writeLimit, a
	BHI  leave
	MOVD ip, b

literalCopy:
	FMOVQ (b), F0
	FMOVQ 16(b), F1
	FMOVQ F0, (op)
	FMOVQ F1, 16(op)
	ADD   $32, b
	ADD   $32, op
	CMP   a, op
	BLO   literalCopy
	MOVD  a, op
	ADD   literals, ip
	MOVHU (ip), distance
	MOVD  token, length
	MOVBU 2(ip), token
	ADD   $2, ip
	B     match

tail:
	// Near the end of a buffer copies are narrower, and what is not short is for the caller.
	ADD $6, readLimit
	ADD $8, writeLimit

next:
	MOVD  ip, ipWas
	MOVD  op, opWas
	CMP   readLimit, ip
	BHI   leave
	CMP   writeLimit, op
	BHI   leave
	MOVBU (ip), length
	LSR   $4, length, literals
	CMP   $8, literals
	BHI   leave
	MOVD  1(ip), a
	MOVD  a, (op)
	ADD   literals, ip, a
	MOVHU 1(a), distance
	ADD   $3, a, ip
	ADD   literals, op
	MATCH(leave, nearTail, next)

nearTail:
	NEAR(next)

leave:
	SUB  dst, opWas
	SUB  src, ipWas
	MOVD opWas, written+48(FP)
	MOVD ipWas, read+56(FP)
	RET
