// SPDX-License-Identifier: Apache-2.0

// Package procpages reads the memory pages of processes that a swap device could be given:
// resident, anonymous, private to one process and not locked.
//
// Pages of files, pages that lie in swap, the kernel's shared zero page, pages that a fork left
// shared between processes and shared memory are left out. [Memory] walks through one process,
// [Sample] spreads a bounded number of copies evenly over many.
//
// Looking changes nothing about the process: nothing is stopped, and no page is brought into
// memory. A page that lies in swap would be, if it was read, so each page's entry in
// /proc/PID/pagemap is looked at twice: to find it, and again right before it is copied. What the
// kernel swaps out in the microseconds after that is brought back; nothing in its interface avoids
// it.
//
// A process may end at any time, which is an error that wraps [ErrGone] and never one of another
// kind. Whoever may not look into a process gets an error that wraps fs.ErrPermission: another
// user's processes need root, and the setting kernel.yama.ptrace_scope can forbid one's own.
//
// The package works on Linux from 4.2 on, which told by pagemap what belongs to one process alone,
// and on pages of 4096 bytes. Values belong to one goroutine each.
package procpages
