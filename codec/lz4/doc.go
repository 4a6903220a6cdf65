// SPDX-License-Identifier: Apache-2.0

// Package lz4 compresses and decompresses buffers of up to a page in the LZ4 block format, by pierrec/lz4.
//
// An object is one LZ4 block (lz4_Block_format.md of the LZ4 project) and nothing else: no frame, no length, no checksum.
// The length of the data is not in the object; the reader must know it, and [Decompress] refuses an object that does not
// fill the buffer exactly. A block ends with at least one literal, so an object cut short anywhere yields fewer bytes and
// is always noticed. A changed byte is not: LZ4 has no redundancy, and the caller's checksum has to see it.
//
// An [Encoder] holds 136 KiB and belongs to one worker. Decompressing needs no state. Neither allocates.
package lz4
