// SPDX-License-Identifier: Apache-2.0

// Package kernels has the kernels that a GPU runs on many pages at once, written with package ptx:
// [LZ4Decompress], [LZ4Verify], [LZ4Compress] and [LZ4Prove] for the objects of package codec/lz4,
// [PageDecompress] and [PageVerify] for those of codec/page (identifier 4).
//
// They are built on request; nothing here needs a GPU. In the tests package sim runs them on real
// pages, on corrupt objects, where they must agree with the codec, and with planted faults, which
// must be found. testdata has their text. A built kernel never changes and
// may be used by any number of goroutines; building one takes a few milliseconds and is safe in
// several at once.
//
// # Launching
//
// A warp does one page at a time, and goes on to another until all n are done, so any number of
// blocks up to 1<<24 is right; as many as [Kernel.PagesPerBlock] says to cover all pages are the
// most that is of use. n may be up to 1<<24. Threads a block and shared memory are those of the
// ptx.Kernel; shared memory is static and under 48 KiB. Addresses are of global memory, which may
// be the device's own or the host's, registered. Arrays are aligned to their elements. Parameters
// are passed in the order of the tables.
//
// # Decompressing
//
//	objects   u64  array of n addresses, u64 each, of objects, with any alignment
//	lengths   u64  array of n lengths, u32 each, in bytes
//	pages     u64  where page i is written to, at i × 4096; aligned to 16 bytes
//	statuses  u64  array of n statuses, u32 each: [StatusOK] or [StatusCorrupt]
//	n         u32  number of pages
//	table     u64  page_decompress and page_verify only: [PageTable], aligned to 16 bytes
//
// The verifying kernels have hashes in place of pages: an array of n hashes, u64 each. They
// write the [Hash] of each page instead of the page, 0 for a corrupt one.
//
// An object is corrupt where the codec's Decompress to a page of 4096 bytes fails, and no other is.
// A corrupt object's page is not written. A length that no object has is refused before anything is
// loaded. Whole sectors are loaded, so the memory that objects lie in must begin at a multiple of
// 32 bytes and end at a multiple of 16; what lies around an object may be anything, even an object
// that is just being written, as long as it is memory.
//
// # Compressing
//
//	pages     u64  page i is read at i × 4096; aligned to 32 bytes
//	results   u64  n results of [ResultSize] bytes, aligned to 32 bytes, for [ReadResult]
//	arena     u64  where objects are written to; aligned to 32 bytes
//	cursor    u64  a u32, the granules taken of the arena; 0, or where an earlier launch ended
//	granules  u32  the arena's size in granules of [GranuleSize] bytes
//	limit     u32  an object that would be longer than this many bytes is not stored; 4095 at most
//	n         u32  number of pages
//
// Objects lie behind one another in the order in which warps were done with them, each from a
// granule's start and with zeros up to the next granule's. So where an object lies differs from
// launch to launch; what it is does not: the same page and limit always give the same bytes, on
// every machine, and those that [Encoder] makes on the CPU. They are LZ4 blocks that any decoder
// reads, but not those that codec/lz4 makes: about 2 % longer in all. The cursor counts on where
// the arena is full; copying back as many granules as it says, or as the arena has, copies
// everything. It has 32 bits, so fewer than 1<<24 pages may be counted by one.
//
// # Proving
//
//	results   u64  what lz4_compress left, also in earlier launches
//	arena     u64  its objects
//	n         u32  number of results
//
// lz4_prove decompresses the objects as lz4_verify does, and leaves in each result the hashes of
// the page and of the object itself. A caller that compares them with its own of the page that it
// gave and of the bytes that it got back need not decompress the object.
//
// # Occupancy
//
// Shared memory is what limits how many warps run at once on a multiprocessor, 227 KiB on an H100:
// 24 that decompress and 18 that compress, all kernels staying under 64 registers. A warp that
// decompresses neither waits nor diverges; each file describes what its warps do with a page.
package kernels
