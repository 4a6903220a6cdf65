// SPDX-License-Identifier: Apache-2.0

/*
Package gpu is a [bulk.Engine] that runs the kernels of package kernels on a GPU, through package
driver: on a real one if the program was built with the tag cuda, on a simulated one in tests. A
planner gives it pieces of batches while the cores do others, and does the items that it leaves
again on the CPU.

	d, err := driver.CUDA()
	engine, err := gpu.Open(d, gpu.Options{})
	planner, err := bulk.NewPlanner(cpu, []bulk.Engine{engine}, bulk.Config{})

It reads LZ4 blocks and objects of the page format, and makes LZ4 blocks. The path of a page fault
must not use it, since libcuda allocates memory.

# How a piece gets to the device and back

Each lane of the engine has a slot with pinned memory and device memory for one piece. Three streams
copy to the device, compute, and copy back, so three slots can be in these stages while the CPU
fills or empties the others, with [bulk.Piece.Spread]. A piece that is too large for a slot is done
in rounds.

Objects are gathered into the slot and copied. From registered memory the kernel may read them in
place, or, where they lie close together, ranges with objects and gaps are copied to the device:
[Path] says which, and by default it is measured when the engine is opened. Pages travel through the
slot too, except for runs of neighbours in registered memory, which the device copies from or to the
batch itself.

# Errors

Each call of the driver is checked. After an error the slot is emptied before Do returns, so the
device never touches it later, and the CPU does the piece; if the slot cannot be emptied the engine
gets no more work. A dead context makes the engine dead; its device memory is gone with the context.
If the device may have been writing to the batch's own pages, the context is closed before the CPU
does these again. If that gets no answer, or does not end everything, Do returns [bulk.ErrTorn].

A kernel leaves the page of a damaged object undefined. The item stays Pending, and the CPU does it.

# Concurrency

Do may be called by as many goroutines as there are slots, each with its own lane. All other methods
are safe for concurrent use, but none may be called after Close. Sizes are in bytes.
*/
package gpu
