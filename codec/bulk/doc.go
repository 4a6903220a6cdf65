// SPDX-License-Identifier: Apache-2.0

// Package bulk compresses, decompresses and verifies many pages at once, over all cores and
// whatever engines a machine has besides.
//
// What is to be done is a [Batch]: a structure of arrays over buffers that the caller has and
// keeps. An object is a region, an offset and a length, so that objects that lie scattered over a
// store's memory are read where they are; a page is a slot in one buffer, so that pages come out in
// the order in which they are to be written, beside those that are known without an object.
// Same-filled pages and holes are no items: whoever makes a batch knows them and passes them by.
//
// An [Engine] works on pieces of a batch. The [CPU] is one, and reads every object; others may be
// faster, but know fewer codecs, fail, or go away. A [Planner] divides each batch between them.
//
// # How a batch is divided
//
// The items stand in one queue, those that the most engines can do at its head and those that the
// CPU alone can do at its tail. Engines take large pieces from the head, the CPU's workers small
// ones from the tail, until they meet: one atomic word holds both ends. No ratio is set beforehand.
// What each does in a second is measured with every piece, as a moving average, and says two
// things: how large the engine's next piece is, and when it takes none any more because the CPU
// would be done with all that is left before that piece came back. An engine that is not used for
// that reason is tried again once in [probeEvery] batches, since it may have been a hiccup.
//
// What an engine cannot do is done by the CPU in the same batch: the items that it leaves, among
// them all that it takes for damaged, and whole pieces where it returns an error. So a verdict is
// always the CPU's. After [maxFailures] errors in a row, or one that wraps [ErrDead], an engine
// gets nothing any more. [Report] counts what was done by whom and why the rest was not.
//
// # What is the same whoever did it
//
// Decompressed pages, verdicts and hashes are the same byte for byte. A compressed object reads
// back as its page by any engine; its bytes are those of the engine's codec, and only the same
// codec makes the same ones.
//
// # Memory that engines know
//
// A GPU reads and writes memory that it was told of without a copy on the way: [Planner.Register]
// tells the engines that want to know. That costs time, about a second for 2 GB, and locks the
// pages, so it is for buffers that see many batches. What is not registered is worked on as well.
//
// # Units
//
// Sizes are in bytes, pages are of [codec.PageSize] bytes, speeds are in pages a second. MB are of
// 10^6 bytes.
//
// # Concurrency
//
// A Planner does one batch at a time; further callers wait. All memory is made with it, or when a
// batch is larger than any before, so that a batch costs no allocation. Between batches its
// goroutines sleep, and after [Planner.Close] there are none. A batch belongs to the planner from
// the call of Run to its return, and to nobody after it: nothing writes to its buffers then, also
// after an error or a cancelled context; but see [ErrTorn].
//
// The package knows no store and no GPU.
package bulk
