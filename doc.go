// SPDX-License-Identifier: Apache-2.0

/*
Package zramfs holds no code: it is where to begin reading, and where the tests
of the tree's own rules lie.

A page on its way in, hop by hop:

 1. cmd/zramfs/daemon puts the processes together: a keeper (keeper.go) holds
    connections and memory, a worker (worker.go) serves.
 2. fusefs: a thread reads a WRITE request into its slot (thread_linux.go), or a
    ring brings it (rings_linux.go); it becomes page spans (span.go, data.go).
 3. store: Worker.Write (worker.go) compresses the page and places it
    (object.go) in a segment (segment.go), then publishes its index entry
    (index.go). store/internal/image knows the bytes.
 4. codec: the algorithm's Compressor chooses (selector.go) and compresses.

A page on its way out takes the same rooms: fusefs, Worker.Read, codec's
Decompressor. cmd/zramfs/command holds the subcommands, loopsetup makes swap of
the file that fusefs serves, procpages reads the memory of processes for
estimates, and docs/ says the rest in words. What is written in assembly has a
generic twin; codec/internal/impl knows which of them this machine takes, and
codec/_asm holds the programs that write the assembly for amd64.

Many pages at once, for export, import and verify, take another way: store/view
reads a live image from outside, codec/bulk divides batches between cores and
engines, and gpu is such an engine: kernels written in Go (gpu/kernels, with
gpu/ptx) for a device or a simulated one (gpu/driver, gpu/ptx/sim).

Imports go down only, from the program to the codecs; house_test.go holds the
order as text.
*/
package zramfs
