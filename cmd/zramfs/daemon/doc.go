// SPDX-License-Identifier: Apache-2.0

// Package daemon puts the processes of a device together and takes them apart again in reverse:
// protections, store, mount, locked memory, ready, and back.
//
// It is the one place that knows all of these. There are two processes:
//
//   - The keeper ([Run]) holds the connections with the kernel, the image and the memory of requests, mounts and
//     unmounts, and does none of the work. [Spawn] starts it from a command and waits for its announcement.
//   - The worker ([Work]) is its child and does all the work. When it dies, the keeper starts another, which finds
//     everything in memory, finishes what the last one was at, and goes on (supervision.go). The same on purpose, with
//     another program, is [Upgrade].
//
// They talk by JSON over two pipes (channel.go). A worker prepares itself, waits for the order to
// serve, and says when it does. Commands talk to both over the sockets of package control: the
// keeper changes workers and hands out the image for reading only, the worker takes pages that a
// command has compressed. [Status] is what the worker says about
// the device in DIR/control/status.
//
// # Hazards
//
// The processes serve the device that the machine swaps to. Whatever they wait for may be waiting
// for them:
//
//   - The worker never opens, stats or removes anything below its own mount, and has its working directory at /. The
//     keeper does so only beside what listens for the death of a worker.
//   - After the mount the worker starts no program, and neither writes anything that can block: log lines pass through
//     a bounded queue to one goroutine, and are dropped and counted when that is full (see [Logs]).
//   - Their memory is locked, and the worker's heap is given its full size, all of it present, before it says that it is
//     ready. The garbage collector runs only once garbage has gathered, which requests for pages leave none of, and the
//     runtime is never brought to give memory back, since taking it again would be a page fault.
//   - A thread must not be charged to a limited memory group of cgroup v1: reclaim there may wait for the very
//     write that the thread has to finish. That, memory that could not be locked, and FUSE request timeouts (after
//     which the kernel cuts the connection) are the essential protections: without them swap must not be turned on.
package daemon
