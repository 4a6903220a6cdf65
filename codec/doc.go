// SPDX-License-Identifier: Apache-2.0

// Package codec compresses and decompresses memory pages, one page of 4096 bytes at a time.
//
// An [Algorithm] is what a user asks for by name; it makes a [Compressor], which chooses for each
// page how to store it and returns that as an [ID]. The ID is stored with the object, and one
// [Decompressor] reads every ID. So a device may change its algorithm, and an algorithm may mix
// codecs, and all that was stored before stays readable.
//
//	adaptive          page:dense, page, or raw where neither fits; see [Adjustable]
//	adaptive:entropy  by bits of entropy a byte: below 0.5 LZ4, 4 zstd 3, 6 zstd 1; else raw
//	page              our own format: 32 % fewer bytes than LZ4, in 1.4 times its time
//	page:dense        the same with Huffman codes: 43 % fewer bytes than LZ4, in twice lz4's time
//	lz4               LZ4
//	lz4:fast          LZ4 in three quarters of the time: 16 % more bytes
//	zstd(level=N)     N 1 to 19, 3 by default; 1: 0.68 of LZ4's bytes, 5 times its time
//	raw               as it is
//
// [Parse] describes their parameters. [Algorithm.NewClusterCompressor] compresses neighbouring
// pages together, for what has gone cold.
//
// # Dictionaries
//
// A device may have one dictionary, what its pages have in common, for "zstd(dict=FILE)". Its
// objects have an ID of their own, so that those made without it stay readable, and none can be
// read with another dictionary. On real pages of the programs that it was trained on it saves 1 to
// 14 % of the bytes; but the library behind zstd takes 1.3 times as long to compress with one at
// level 1, twice as long from level 3 on, and 1.4 times as long to decompress. At levels of 10 and
// more it copies a table of 32 MiB for each page, which takes 1.4 ms.
//
// The package knows nothing of where objects lie. Pages that are one word repeated are compressed
// like any other; the store finds them first, by package pagescan, and keeps no object for them.
//
// # What adaptive gains
//
// On real pages the dense level stores 17 % fewer bytes than page and takes 1.4 times as long in
// both directions. Which pages it saves most on is learnt while pages are compressed: where up to
// half of the pages get the dense level, adaptive stores 0.4 to 3 % fewer bytes than if as much
// time went to pages drawn at random.
//
// # When a page stays raw
//
// An object is kept only if it is at least 1/16 smaller than the page, at most 3840 bytes; else the
// page is stored raw. Less than that is eaten by what an allocator rounds up, and would be paid for
// with a decompression at every read where a copy would do.
//
// # Hazards
//
// Objects carry no checksum. A damaged object is often not noticed and then decompresses to a wrong
// page, without an error; the store's checksum, which it verifies first, stands between that and
// the user. For any object the package promises only this: no panic, no write outside the
// destination, no memory beyond what was made at the start.
//
// Compressors and decompressors belong to one worker each. All of their memory is allocated when
// they are made, so that the page path neither allocates nor runs out of memory. In Go heap a
// worker takes:
//
//	lz4, lz4:fast               8 KiB
//	page                       32 KiB
//	page:dense                 56 KiB
//	adaptive                   97 KiB
//	adaptive:entropy         1712 KiB
//	zstd(level=1) to 2        340 KiB
//	zstd(level=3) to 5       1364 KiB
//	zstd(level=6) to 9       4380 KiB
//	zstd(level=10) to 19     34.2 MiB
//	each Decompressor          82 KiB
//	each ClusterDecompressor  216 KiB
//
// A dictionary doubles what zstd takes, and more at level 1: see package zstd.
//
// Package zstd says what the library below it may still allocate after a garbage collection.
package codec
