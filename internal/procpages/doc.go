// SPDX-License-Identifier: Apache-2.0

// Package procpages reads the memory pages of processes that a swap device could be given:
// resident, anonymous, private to one process and not locked.
//
// Pages of files, pages that lie in swap, the kernel's shared zero page, pages that a fork left
// shared between processes and shared memory are left out. [Memory] walks through one process,
// [Sample] spreads a bounded number of copies evenly over many.
//
// Reading changes nothing about the process: it is not stopped, and none of its pages is brought
// into memory. Reading a page that lies in swap would bring it back, so each page's entry in
// /proc/PID/pagemap is checked twice: to find it, and again right before it is copied. If the
// kernel swaps a page out in the microseconds after that, reading brings it back; the kernel's
// interface has no way to avoid it.
//
// A process may end at any time, which is always an error that wraps [ErrGone]. Without permission
// to read a process the error wraps fs.ErrPermission: another user's processes need root, and the
// setting kernel.yama.ptrace_scope can forbid one's own.
//
// The package works on Linux from 4.2 on, where pagemap marks pages that belong to one process
// alone, and on pages of 4096 bytes. Values belong to one goroutine each.
package procpages
