// SPDX-License-Identifier: Apache-2.0

// Package impl knows which instruction sets this machine has and which implementation of a
// primitive to take.
//
// Every primitive of the codecs is written in Go, always compiled, and for some instruction sets
// again in assembly. It keeps its implementations in a [Table], and they all give the same bytes.
// Tests go through the whole table; programs take its first entry that this machine can run.
//
// The sets of a machine are read once, at start. The environment variable ZRAMFS_DISABLE takes
// some away, as in ZRAMFS_DISABLE=avx512: for a machine on which one of them
// misbehaves, and for tests. Without avx2 there is no avx512 either. With the build tag purego, and
// on architectures that nothing was written for, only [Generic] is left.
package impl
