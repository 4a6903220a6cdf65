// SPDX-License-Identifier: Apache-2.0

// Package daemon puts the serving process of a device together and takes it apart again in reverse: protections,
// store, mount, locked memory, ready, and back.
//
// It is the one place that knows all of these. [Run] is the process itself; [Spawn] starts it from a command as a
// process of its own and waits for its announcement on an inherited descriptor. [Status] is what the running process
// says about itself in DIR/control/status.
//
// # Hazards
//
// The process serves the device that the machine swaps to. Whatever it waits for may be waiting for it:
//
//   - It never opens, stats or removes anything below its own mount, and has its working directory at /.
//   - After the mount it starts no program, and writes nothing that can block: log lines pass through a bounded queue
//     to one goroutine, and are dropped and counted when that is full (see [Logs]).
//   - Its memory is locked and its heap is given its full size before it says that it is ready. The garbage collector
//     runs only when that heap is used up, and the runtime is never brought to give memory back, since taking it again
//     would be a page fault on the page path.
//   - A thread of it must not be charged to a limited memory group of cgroup v1: reclaim there may wait for the very
//     write that the thread has to finish. That, memory that could not be locked, and FUSE request timeouts (after
//     which the kernel cuts the connection) are the essential protections: without them swap must not be turned on.
package daemon
