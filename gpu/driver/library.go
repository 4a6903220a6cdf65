// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"time"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// library is the part of CUDA's driver interface that this package uses, or its simulation. Errors
// of calls are of type *Error.
type library interface {
	// start must be the first call.
	start() error
	// version returns 1000 times the major version of CUDA plus 10 times the minor.
	version() (int, error)
	devices() (int, error)
	properties(device int) (Properties, error)
	// retain makes the device's context, in which waiting sleeps, and returns its handle.
	retain(device int) (uint64, error)
	release(device int) error
	// active reports whether the device's context still exists, because another user in the program
	// has retained it, possibly by another driver.
	active(device int) (bool, error)
	// attach makes a context current on the calling thread, to which the goroutine is locked, and
	// returns its calls for this thread alone.
	attach(context uint64) (calls, error)
	// wait returns when the event is reached. Any thread may call it; its goroutine is locked to
	// it.
	wait(context, event uint64) error
	close() error
}

// calls are the functions that need a context. Handles are never 0.
type calls interface {
	// detach ends the use of these calls. It sends nothing to the device.
	detach()
	// abandon marks the context dead, so that it unregisters nothing. It does not wait. Any
	// goroutine may call it.
	abandon()

	memoryInfo() (free, total int64, err error)
	alloc(name string, n int) (Pointer, error)
	free(p Pointer) error
	allocHost(n int) (Host, error)
	freeHost(h Host) error
	register(b []byte, readOnly bool) (Host, error)
	unregister(h Host) error

	newStream() (uint64, error)
	closeStream(s uint64) error
	newEvent() (uint64, error)
	closeEvent(e uint64) error
	record(e, s uint64) error
	await(s, e uint64) error
	elapsed(from, to uint64) (time.Duration, error)

	copyIn(s uint64, dst Pointer, src Host) error
	copyOut(s uint64, dst Host, src Pointer) error
	fill(s uint64, dst Pointer, v byte, n int) error

	// load translates a kernel and returns the handle of its module and of itself.
	load(k *ptx.Kernel) (module, function uint64, info KernelInfo, err error)
	unload(module uint64) error
	launch(s, function uint64, k *ptx.Kernel, grid int, args []uint64) error
}
