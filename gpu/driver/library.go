// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"time"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// library is CUDA's driver interface as far as this package uses it, or what
// stands for it. Its errors that come from a call are of type *Error.
type library interface {
	// start must be the first call.
	start() error
	// version is 1000 times the major version of CUDA that is known, and 10 times the minor.
	version() (int, error)
	devices() (int, error)
	properties(device int) (Properties, error)
	// retain makes the device's context and returns its handle; waiting in it sleeps.
	retain(device int) (uint64, error)
	release(device int) error
	// active reports whether the device's context is still there, because somebody else in the program
	// has retained it: another driver, too.
	active(device int) (bool, error)
	// attach makes a context that of the calling thread, to which the goroutine is locked, and returns
	// its calls for this thread alone.
	attach(context uint64) (calls, error)
	// wait returns when the event has come to pass. Any thread may call it, to which its goroutine is
	// locked meanwhile.
	wait(context, event uint64) error
	close() error
}

// calls are those that need a context. Handles are never 0.
type calls interface {
	// detach ends the use of these calls, and asks nothing of the device.
	detach()
	// abandon says that the context is dead, so that nothing will be unregistered by it, and waits for
	// nothing. Any goroutine may call it.
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
	happened(e uint64) (bool, error)
	elapsed(from, to uint64) (time.Duration, error)

	copyIn(s uint64, dst Pointer, src Host) error
	copyOut(s uint64, dst Host, src Pointer) error
	fill(s uint64, dst Pointer, v byte, n int) error

	// load translates a kernel and returns the handle of its module and of itself.
	load(k *ptx.Kernel) (module, function uint64, info KernelInfo, err error)
	unload(module uint64) error
	launch(s, function uint64, k *ptx.Kernel, grid int, args []uint64) error
}
