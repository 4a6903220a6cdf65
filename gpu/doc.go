// SPDX-License-Identifier: Apache-2.0

/*
Package gpu is an engine for bulk work that runs the kernels of package kernels on a GPU, through package driver: on a real one where the
program was built with the tag cuda, on a simulated one in tests. To package bulk it is an [bulk.Engine] like others: a planner gives it
pieces of batches beside what the cores do, and does again on the CPU what does not come back done.

	d, err := driver.CUDA()
	engine, err := gpu.Open(d, gpu.Options{})
	planner, err := bulk.NewPlanner(cpu, []bulk.Engine{engine}, bulk.Config{})

It reads LZ4 blocks and objects of the page format, and makes LZ4 blocks. Nothing on the way of a page fault may use it, since
libcuda allocates memory.

# How a piece gets to the device and back

There is a ring of slots, one a lane of the engine, each with pinned memory and memory of the device for one piece; and three streams, for
what goes there, what is computed, and what comes back, so that three slots can be at these at a time while the CPU fills or empties the fourth. A
piece that is too large for a slot is done in rounds.

Objects are gathered into the slot and copied. If they lie in memory that was registered the kernel may read them where they are, or, where they
lie close together, they are copied to the device from there, with what is between them: [Path] says which, and by default it is measured when the engine
is opened. Pages travel through the slot too, but for runs of neighbours in registered memory, which the device copies from or to the batch itself.

# When something goes wrong

Each call of the driver is checked. After an error the slot is emptied before Do returns, so the device never touches it later, and the CPU does
the piece; where it does not empty the engine gets nothing any more. A context that is dead makes the engine dead; what it owned on the device is gone with the context. If the device may have been writing to the
batch's own pages then, the context is closed before the CPU does these again, and where that does not answer, or not end everything, Do says [bulk.ErrTorn].

What the kernel did not find in order leaves the page anything: such an item stays Pending, and the CPU does it.

# Concurrency

Do may be called by as many goroutines as there are slots, each with its own lane. Everything else is safe for concurrent use, but
nothing may be called after Close. Sizes are in bytes.
*/
package gpu
