// SPDX-License-Identifier: Apache-2.0

/*
Package sim runs the kernels that package ptx builds, without a GPU, and
enforces rules that a GPU does not: a race, a wild address or an absent lane is
an error here, and may go unnoticed there a thousand times.

	memory := sim.NewMemory(64 << 20)
	device := &sim.Device{Memory: memory}
	pages, err := memory.Alloc(sim.Spec{Name: "pages", Size: n * 4096, Stride: 4096})
	stats, err := device.Launch(kernel, grid, kernel.Threads(), pages, uint64(n))

Launch returns when all blocks have ended, or with a *Fault that names the line
of the kernel, the block, warp and lane, and the buffer:
pages[1024]+12 is byte 12 of the element 1024. Sizes and offsets are in bytes.

# Faults

 1. An address outside of its buffer or shared array. Each buffer and each array
    has a window of addresses of its own, so an address beyond one lies in no other;
    a freed address keeps its name for a while.
 2. An address that is no multiple of the size of the access.
 3. A read of unwritten bytes: in shared memory since the block began, in
    global memory since the buffer was made. Registers likewise.
 4. A write to a read-only buffer.
 5. A race: two lanes, at least one writes, and no barrier between: none of the
    warp within a warp, none of the block within a block; nothing orders blocks.
    Shuffles and votes order no memory. This is judged byte by byte from the last accesses,
    not from wrong results, so every schedule finds it. Atomic and
    volatile accesses do not race with each other, but do with plain ones.
 6. An instruction for the whole warp, or a barrier, that some lanes do not reach
    because they are elsewhere, or have exited.
 7. Warps that wait at different barriers, and kernels that do not end.
 8. Division by zero, and lanes that differ where the kernel claims that they agree.

# Schedules

With Device.Seed 0, the lanes of a warp stay together as long as they can: after
a branch they meet again at its immediate post-dominator. With another seed they
run ahead of each other in an order drawn from it, wherever no instruction holds
them together, and so do the warps of a block and the blocks. A kernel must
compute the same in all.

# Limits

Nothing is known of time. Loads and stores take effect in the order of the
program: a device may show volatile ones of two lanes out of order, and forbids them
to overlap in part. An address beyond one range of a pool lies in the next range. Only
ptxas knows how many registers a kernel takes, and whether it loads.

# Speed

A kernel is prepared once for a device: operands become indices, constants become
registers that no instruction writes, and each instruction one call for all 32 lanes. A register
is a row of 32 values; a predicate is one word. A block runs in one goroutine, and
several blocks run at a time.

# Concurrency

Memory and Device may be used by any number of goroutines. Bytes of a buffer that a
launch uses must not be copied until it ends, as on a GPU. Blocks that race with each other are
stopped before they touch the bytes, so even then no Go memory has a race.
*/
package sim
