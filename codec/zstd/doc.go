// SPDX-License-Identifier: Apache-2.0

// Package zstd compresses and decompresses buffers of up to a page by Zstandard (RFC 8878), through
// klauspost/compress.
//
// # The object
//
// An object is the one block of a Zstandard frame: a block header of 3 bytes and its content. The
// frame header is not stored, because it is the same for all buffers of one length: no checksum, no
// dictionary, a single segment, and a content size that the reader knows already. That saves 7
// bytes a page, 0.7 % of an average object, and it means that an object cannot declare anything:
// size, window and dictionary are [Decoder]'s own, so a hostile object has nothing to ask memory
// with. Put the header before an object and any zstd tool reads it.
//
// The block header says how long the block is, so an object that was cut short is always noticed. A
// changed byte often is not: the caller's checksum has to see it.
//
// # Levels
//
// The library has four searches for the levels of the C library: levels 1 and 2 are its fastest, 3
// to 5 its default, 6 to 9 its better and 10 to 19 its best. Literals are entropy coded even in a
// page without any match, which the library leaves out at its fast levels: at level 1 that stores
// 0.2 to 7 % fewer bytes, by sample of real pages, in the same time.
//
// # Speed
//
// Of a page's 19 us at level 1 the search for matches takes a third. The rest goes into
// entropy codes: making and writing the Huffman table for literals takes 30 %, the three
// tables for sequences 25 %; and of the 7 us to decompress, reading these tables takes 45 %.
// All that is paid once a block. docs/lab/tried.md lists what was tried to make it faster,
// and lost.
//
// # Memory and allocation
//
// An encoder and a decoder belong to one worker. Measured, in KiB of Go heap:
//
//	                    alone   with a dictionary of 16 KiB
//	levels 1 and 2        340                           813
//	levels 3 to 5        1364                          2861
//	levels 6 to 9        4380                          8621
//	levels 10 to 19     35035                         69933
//	Decoder                50                           108
//
// Making one runs it over pages that use each of its tables, so that neither allocates from the
// first page on. There is one exception, which lies in the library: a decoder's tables for Huffman
// codes and sequences go through a sync.Pool, and are collected as garbage when no page has used
// them for two collections. The next pages that do make them again: 17 allocations, 31 KiB
// together. A process that rarely collects hardly sees it.
package zstd
