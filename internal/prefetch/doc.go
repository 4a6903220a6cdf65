// SPDX-License-Identifier: Apache-2.0

// Package prefetch reads what programs have in swap ahead of swapoff, into the swap cache.
//
// It finds the swapped pages in /proc/PID/pagemap and asks the kernel for whole runs of them by
// process_madvise(MADV_WILLNEED), which starts the reads of all pages without waiting for one: many
// are under way at once, where swapoff waits for each cluster. The largest process comes first, and
// in it the longest run. Before each [step] bytes it looks how much may come back: MemAvailable
// less a margin, and the limits of the process's control group and those above it.
//
// It needs CAP_SYS_NICE for process_madvise and CAP_SYS_PTRACE for processes of other users; it
// skips those that it may not look at. Shared memory is left out: pagemap does not show what of it
// lies in swap.
package prefetch
