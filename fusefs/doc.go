// SPDX-License-Identifier: Apache-2.0

// Package fusefs serves a store to the kernel as a file, by FUSE. It turns requests into spans of
// pages and errors into error numbers; what a page becomes is the store's affair.
//
//	DIR/block/zram0/mm_stat   and the other attributes of /sys/block/zram0
//	DIR/control/status        the result of Config.Status, mode 0444
//	DIR/control/pressure      how full the device is, to be polled, see pressure_linux.go
//	DIR/control/loops         the loop devices of a data file that is hidden, mode 0600, writable
//	DIR/control/hot_add       makes an extra device, see extra_devices.go; hot_remove ends one
//	DIR/dev/zram0             the data: size of Config.Store, mode 0600, its own mount
//
// A Session makes the two mounts and keeps what must outlive a server: the connections with the
// kernel and the memory of requests. A Server answers. It may be in another process, which may die;
// the next one reads in the memory of requests (requests.go) what its predecessor was doing, and
// finishes it (recover_linux.go). Names, modes and owners never change, and the size of the data
// file only with a server, which says so; so the kernel may cache them for a day. Each open of an
// attribute makes its contents; reading it in pieces yields one version.
//
// # The page path
//
// Each thread has a slot (thread_linux.go): it reads a request from /dev/fuse into it, carries it
// out, notes that, answers, and frees the slot. fileSystem.servePage (data.go) carries out READ,
// WRITE and FALLOCATE on the data file. go-fuse's protocol server answers all other requests, and
// all on attributes, with the methods of fileSystem.
//
// Between read(2) and write(2) a request on the page path allocates nothing (a test counts in the
// serving process), takes no lock but the store's, and starts no goroutine. The share of time that
// a thread is at work decides how much time compression may take (pace.go).
//
// # Hazards
//
// The serving process must never look into the mount, not even through a library that resolves a
// path: the request would wait for the process, and the process for the request. The session's
// process may do so only while a server serves, and never in the goroutine that starts the next
// server. Tests use the mount from another process.
//
// A request is answered whole or with an error. If a write failed half way and returned the bytes
// written, the loop driver would take that for success and lose the rest (lo_complete_rq in the
// kernel's drivers/block/loop.c). If a read ended before a corrupt page, the kernel could take that
// for a shorter file (fuse_short_read in fs/fuse/file.c) and cut later requests off. Only the end
// of the device ends a request early. So a page of a failed write may have either content, and one
// corrupt page fails the whole request.
//
// Reading and writing bypass the page cache, at any offset and length, with and without O_DIRECT.
// Before Linux 6.6 shared mappings of the data file are refused with ENODEV: the mapping and a loop
// device would not see each other's writes. Later kernels write the pages of mappings back before
// they read and write directly.
//
// The kernel reports a closed file after close(2) has returned, or not at all when its mount goes.
// So OpenCount may be one too high for a moment. It is never too low.
//
// # Concurrency
//
// A slot, its buffer and its words belong to one thread. As many threads as there are processors
// have a turn to wait for requests; a thread that waits for memory gives its turn to another. The
// Go scheduler does not know of waiting threads, as receive_linux.go explains, so the process needs
// GOMAXPROCS to be at least Processors.
package fusefs
