// SPDX-License-Identifier: Apache-2.0

// Package bulk compresses, decompresses and verifies many pages at once, on all cores and on other
// engines of a machine.
//
// The work is a [Batch]: a structure of arrays over the caller's buffers. An object is a region, an
// offset and a length, so that objects scattered over a store's memory are read in place. A page is
// a slot in one buffer, so that pages come out in the order of writing, next to pages that have no
// object. The maker of a batch leaves same-filled pages and holes out.
//
// An [Engine] works on pieces of a batch. The [CPU] is one, and reads every object; others may be
// faster, but know fewer codecs, fail, or go away. A [Planner] divides each batch between them.
//
// # How a batch is divided
//
// The items stand in one queue, those that the most engines can do at its head and those that the
// CPU alone can do at its tail. Engines take large pieces from the head, the CPU's workers small
// ones from the tail, until they meet: one atomic word holds both ends. No ratio is set beforehand.
// The rate of each engine, a moving average over its pieces, decides how large its next piece is,
// and when it gets none because the CPU would finish the rest before that piece came back. An
// engine that is left out for that reason is tried again once in [probeEvery] batches, since the
// reason may have been a hiccup.
//
// An engine with a device still needs cores: to fill and empty its buffers, and to begin what is
// next at once. So the CPU's workers do what its lanes give them with [Piece.Spread] before they
// take a piece, and half of them rest until the engines have ended.
//
// The CPU does the rest in the same batch: items that an engine leaves, including all that it takes
// for damaged, and whole pieces for which it returns an error. So Corrupt is always the CPU's
// verdict. After [maxFailures] errors in a row, or one that wraps [ErrDead], an engine gets no more
// work. [Report] counts the items by engine and the reasons why the CPU did the rest.
//
// # Results by engine
//
// Decompressed pages, verdicts and hashes are the same byte for byte. A compressed object reads
// back as its page on any engine; its bytes are those of the engine's codec, and only the same
// codec makes the same ones.
//
// # Registered memory
//
// A GPU reads and writes registered memory directly: [Planner.Register] tells the engines that can
// use it. That takes about a second for 2 GB and locks the pages, so it is for buffers that see
// many batches. Other memory works as well.
//
// # Units
//
// Sizes are in bytes, pages are of [codec.PageSize] bytes, speeds are in pages a second. MB are of
// 10^6 bytes.
//
// # Concurrency
//
// A Planner does one batch at a time; further callers wait. It allocates all memory at the start,
// or for a batch larger than any before, so a batch costs no allocation. Between batches its
// goroutines sleep, and [Planner.Close] ends them. A batch belongs to the planner from the call of
// Run to its return; afterwards nothing writes to its buffers, even after an error or a cancelled
// context; but see [ErrTorn].
//
// The package knows no store and no GPU.
package bulk
