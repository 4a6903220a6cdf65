// SPDX-License-Identifier: Apache-2.0

// Package lz4 compresses and decompresses buffers of up to a page in the LZ4 block format.
//
// An object is one LZ4 block (lz4_Block_format.md of the LZ4 project) and nothing else: no frame, no length, no checksum.
// The length of the data is not in the object; the reader must know it, and [Decompress] refuses an object that does not
// fill the buffer exactly. A block ends with at least one literal, so an object cut short anywhere yields fewer bytes and
// is always noticed. A changed byte is not: LZ4 has no redundancy, and the caller's checksum has to see it.
//
// An [Encoder] holds 8 KiB and belongs to one worker. Decompressing needs no state. Neither allocates.
//
// # How it is made
//
// All is written in Go, in encode_generic.go, fast_generic.go and decode_generic.go, and again in assembly: for amd64 with AVX2, generated
// by codec/_asm/lz4, and the decoder for arm64. An object depends on the page and on [Options].Fast alone; every implementation
// makes the same bytes of it.
//
// The assembly does what is done often. It works while both buffers have room for wide copies, and leaves the rest of a page, and all
// that is wrong with an object, to the Go code: what it returns is the place where that goes on. So each rule of the format
// that an object can break is checked in full in one function, and the assembly has only to notice that something is unusual.
//
// A search that goes byte by byte spends its time waiting: for the chain from one match's end over hash, table and candidate to the next
// match's end, and for branches that nobody can predict. What was tried against either and lost is told in docs/performance.md.
package lz4
