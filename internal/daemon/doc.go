// SPDX-License-Identifier: Apache-2.0

// Package daemon puts the processes of a device together and takes them apart again in reverse:
// protections, store, mount, locked memory, ready, and back.
//
// A device has two processes:
//
//   - The keeper ([Run]) has the connections with the kernel, the image and the memory of requests.
//     It mounts and unmounts, and carries out no requests. A command starts it with [Spawn], which
//     waits for its announcement.
//   - The worker ([Work]) is its child and carries out all requests. When it dies, the keeper
//     starts another, which finds everything in memory, finishes the requests under way, and goes
//     on (supervision.go). An upgrade does the same on purpose, with another program.
//
// They talk by JSON over two pipes (channel.go). A worker prepares itself, waits for the order to
// serve, and says when it does. Commands talk to both over the sockets of package control: the
// keeper changes workers and hands out the image for reading only, the worker takes pages that a
// command has compressed. [Status] is the worker's description of the device in DIR/control/status.
//
// # Hazards
//
// The processes serve the device that the machine swaps to. Whatever they wait for may be waiting
// for them:
//
//   - The worker never opens, stats or removes a path below its own mount, and has its working
//     directory at /. The keeper does so only in goroutines that the supervision does not wait for.
//   - After the mount the worker starts no program, and neither process writes to anything that can
//     block: log lines pass through a bounded queue to one goroutine, and are dropped and counted
//     when that is full (see [Logs]).
//   - Their memory is locked, and the worker's heap has its full size, all of it present, before
//     the worker says that it is ready. The garbage collector runs only once garbage has gathered,
//     and requests for pages leave none. The runtime never gives memory back, since taking it again
//     would be a page fault (package protect).
//   - A thread must not be charged to a limited memory group of cgroup v1: reclaim there may wait
//     for the very write that the thread has to finish. That, memory that could not be locked, and
//     FUSE request timeouts (after which the kernel cuts the connection) are the essential
//     protections: without them swap must not be turned on.
package daemon
