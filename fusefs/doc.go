// SPDX-License-Identifier: Apache-2.0

// Package fusefs serves a store to the kernel as a file, by FUSE: it turns
// requests into spans of pages, and errors into error numbers, and knows nothing
// of what a page becomes.
//
//	DIR/block/zram0/mm_stat   and six more attributes, as in the kernel's /sys/block/zram0, mode 0444
//	DIR/control/status        what Config.Status says, mode 0444
//	DIR/control/loops         the loop devices of a data file that is hidden, mode 0600, writable
//	DIR/dev/zram0             the device's data: Config.Store's size, mode 0600, a mount of its own
//
// A Session makes the two mounts and holds what must not go while anybody uses the
// device: the connections with the kernel and the memory of requests. A Server
// answers; it may be in another process, which may die. The next one finds in the
// memory of requests (requests.go) what the last one was at, and finishes it. The
// trees are fixed: names, modes, owners and sizes never change, so the kernel may
// keep them for a day. Each open of an attribute makes its contents; reading it in
// pieces shows one version.
//
// # The page path
//
// READ, WRITE and FALLOCATE on the data file come by one of two transports. By
// /dev/fuse (thread_linux.go) each thread has a slot: it reads a request into it,
// carries it out, notes that, answers, and frees the slot. Over io_uring
// (rings_linux.go and internal/ring) there is a ring for each processor. Both end
// in fileSystem.hot (data.go). Whatever else the kernel asks is answered by
// go-fuse's protocol server from the methods of fileSystem; so are all requests
// about attributes.
//
// From read(2) to write(2) a request on the page path allocates nothing (a test
// counts in the serving process), takes no lock but those of the store, and starts
// nothing. How busy a thread is says how much time there is for compression
// (pace.go).
//
// # What will hurt
//
// The process that serves must never look into the mount, not even by a library
// that checks where a path leads: the request waits for the process, and the
// process for the request. The session's process looks into it only while a server
// serves, and beside what starts the next one. Tests use the mount from another
// process.
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
// The kernel tells of a closed file after close(2) has returned, or not at all
// when its mount goes, so OpenCount may be one too high for a moment. It is never
// too low.
//
// # Concurrency
//
// A slot, its buffer and its words belong to one thread. Of the threads only as
// many as there are processors have a turn to wait for requests; one that waits
// for memory gives its turn to another. A thread waits in a way that the Go
// scheduler does not know of, which receive_linux.go explains; the process needs
// Processors for that.
package fusefs
