// SPDX-License-Identifier: Apache-2.0

/*
Package driver drives GPUs through the part of CUDA's driver interface that package gpu needs:
contexts, kernels, streams, events, memory and copies. It has two implementations. [CUDA] is
libcuda, in programs built with the tag cuda. A [Simulator] has devices that run kernels with
package sim, streams that run concurrently, limited memory, and calls that fail when a test asks for
it.

	d, err := driver.CUDA()
	c, err := d.Open(0, driver.Options{})
	err = c.Do(func(t *driver.Thread) error {
		...
		err := t.CopyIn(stream, address, host)
		err = t.Launch(stream, kernel, grid, uint64(address), n)
		return t.Record(event, stream)
	})
	err = c.Wait(event)

# Threads

A [Context] has one goroutine, locked to its thread, that makes all calls: [Context.Do] passes it a
function and waits for its end. That costs some microseconds, so calls that belong together go into
one Do. A [Thread] is valid in its Do alone, and Do must not be called within a Do. [Context.Wait]
waits outside that goroutine and does not block it.

# Memory

Copies go between the device and a [Host], which is memory that is locked and registered with the
device. Except on the simulator none of it lies in Go's heap. Copies and kernels of one stream run
in order, some time after the call: their memory must be left alone until an event behind them is
reached. The pools, [DevicePool] and [HostPool], divide a few large allocations into many small
ones. Sizes are in bytes.

# Errors

Calls return an [*Error] with the call's own name and a [Code], which errors.Is finds. CUDA reports
errors on the device late: a kernel's fault is the error of a later call. The codes after which CUDA
refuses further work in a context, and a Wait that takes longer than [Options.Limit], make the
context dead: all methods but Close and Stop then return [ErrDead] with the cause. No call waits for
a dead device, so the program can continue without it. Only a Wait detects a silent device: without
one, a Do takes as long as its calls do.

# Concurrency

Driver, Context and the pools are safe for concurrent use. Streams, events and Hosts are values;
their users see to it that they are not destroyed while in use.
*/
package driver
