// SPDX-License-Identifier: Apache-2.0

// Package ptx builds GPU kernels in Go and writes them as PTX, the assembly text that NVIDIA's
// driver translates for its devices.
//
// A [Builder] is a small language inside Go: values have the types [U32], [U64], [Pred], [Shared32]
// and [Global64], each a Go type of its own, so that an address of shared memory can neither be
// widened nor confused with one of global memory, and an operand of the wrong width does not
// compile. [Builder.If], [Builder.While] and their kin take functions as their bodies. Faults that
// Go's types cannot exclude are found while the kernel is built, and [Builder.Build] returns them
// as an error with the line of the kernel's author: a barrier where some threads may be absent, a
// value used outside of where it was made, more shared memory than a block may have.
//
// The result is a [Kernel], which is immutable. It is the only description of the program:
// [Kernel.PTX] prints it and package sim runs it, and both read the same table of opcodes, so text
// and simulation agree on what an instruction is and takes.
//
// # The machine model
//
// A block is one-dimensional, its size is fixed when the kernel is built, and it consists of full
// warps of 32 lanes. A value has a [Uniformity]: it may be known to be equal in all threads of the
// block, in all lanes of the warp, or in none. A condition that is not the same throughout makes
// the code under it divergent; warp-wide instructions are refused under a condition that varies
// within the warp, and the barrier of the block under one that varies within the block. There is no
// generic addressing: each load and store names its space.
//
// Addresses of shared memory are 32 bits wide and count from the start of the block's shared
// memory; those of global memory are 64 bits wide. All sizes are in bytes. Only a finished Kernel
// is safe for concurrent use.
package ptx
