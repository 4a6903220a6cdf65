// SPDX-License-Identifier: Apache-2.0

// Package fusefs serves a store to the kernel as a file, by FUSE: it turns
// requests into spans of pages, and errors into error numbers, and knows nothing
// of what a page becomes.
//
//	DIR/dev/zram0             the device's data: Config.Store's size, mode 0600
//	DIR/block/zram0/mm_stat   and six more attributes, as in the kernel's /sys/block/zram0, mode 0444
//	DIR/control/status        what Config.Status says, mode 0444
//
// Mount, Serve in a goroutine of its own, and Unmount. The tree is fixed: names,
// modes, owners and sizes never change, so the kernel may keep them for a day.
// Each open of an attribute makes its contents; reading it in pieces shows one
// version.
//
// # What will hurt
//
// The process that serves must never look into the mount, not even by a library
// that checks where a path leads: the request waits for the process, and the
// process for the request. Tests use the mount from another process.
//
// A request is answered whole or with an error. Were a write to fail half way
// and tell how far it came, the loop driver would take that for success and lose
// the rest (lo_complete_rq in the kernel's drivers/block/loop.c); were a read to
// end before a corrupt page, the kernel could take that for a shorter file
// (fuse_short_read in fs/fuse/file.c) and cut later requests off. Only the end
// of the device ends a request early. So a page of a failed write may hold
// either content, and one corrupt page fails all the request that it is part of.
//
// Reading and writing bypass the page cache, at any offset and length, with
// O_DIRECT and without. Mapping the data file as shared memory is refused with
// ENODEV: the mapping and a loop device would not see each other's writes.
//
// The kernel tells of a closed file after close(2) has returned, so OpenCount may
// be one too high for a moment. It is never too low.
//
// # Concurrency and memory
//
// go-fuse reads requests in several goroutines, up to requestsAtOnce, and each
// works its request off before it reads the next. Nothing here is locked on the
// way of a page but a channel that results come from; requests of the same pages
// are ordered by the store.
//
// From go-fuse's call down, reading, writing and punching allocate nothing (a
// test counts). go-fuse itself allocates small things, with all its buffers
// pooled: for a read 11 objects of 304 bytes together, for a write 10 of 248,
// the same for 4 KiB as for 1 MiB (v2.12.1, TestServedCost). That is 30 MB of
// garbage at 100,000 requests a second, so a collector that is switched off
// altogether must be given a bound. Its buffers are 1 MiB for each request under
// way, and for a read as much as it asks for on top: 16 to 64 requests, 32 MiB to
// 128 MiB at most; a collection lets go of those that were not in use for two.
package fusefs
