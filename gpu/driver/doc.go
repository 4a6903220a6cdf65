// SPDX-License-Identifier: Apache-2.0

/*
Package driver talks to GPUs through as much of CUDA's driver interface as package
gpu needs: contexts, kernels, streams, events, memory and copies. There are two
libraries behind it. [CUDA] is libcuda, in programs built with the tag cuda; a
[Simulator] is devices that run kernels by package sim, with streams that really
run by themselves, memory that ends, and calls that fail when a test says so.

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

A [Context] has one goroutine that is locked to its thread, and all calls are made there: [Context.Do] hands it a
function and waits for its end. That costs some microseconds, a call within only what the call costs, so
what belongs together goes into one Do. A [Thread] is valid in its Do alone, and Do must not be called within a Do.
[Context.Wait] waits beside that goroutine, so others can work meanwhile.

# Memory

Copies go between the device and a [Host], which is memory that is locked and known to the device. Nothing of it
lies in Go's heap, except on the simulator. Copies and kernels of one stream run in order, and some time after
the call: until an event behind them has come to pass their memory must be left alone. The pools, [DevicePool] and
[HostPool], cut a few large pieces into many small ones. Sizes are in bytes.

# Errors

What a call answers is an [*Error] with the call's own name and a [Code], which errors.Is finds. CUDA tells late of
what goes wrong on the device: a kernel's fault is the answer of some later call. The codes after which CUDA
does nothing more for a context, and a Wait that takes longer than [Options.Limit], make the context dead: everything
but Close and Stop then answers [ErrDead] with the cause. Nothing ever waits for a dead device, so the
program can go on without it and end as if nothing had been. Only a Wait finds out that a device is silent: a Do
during which there is none takes as long as its calls do.

# Concurrency

Driver, Context and the pools are safe for concurrent use. Streams, events and Hosts are values to pass around; who
uses them sees to it that they are not destroyed meanwhile.
*/
package driver
