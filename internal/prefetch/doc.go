// SPDX-License-Identifier: Apache-2.0

// Package prefetch brings swapped-out memory of processes back in bulk, before they touch it.
//
// It finds the swapped pages in /proc/PID/pagemap and asks the kernel for whole runs of them by
// process_madvise(MADV_WILLNEED), which starts the reads of all pages without waiting for one: many
// are under way at once, where a fault waits for each cluster. A read puts a page into the swap
// cache; the package then looks at one byte of it, which waits for the read and maps the page, so
// that its process meets no fault at all. WILLNEED leaves out private changed pages of mapped
// files: the look alone brings those back.
//
// Largest process first, and in it the longest run. Before each [step] bytes it looks how much may
// come back: MemAvailable less a margin, the limits of the process's control group and those above
// it, and PSI. A page that the kernel reads back keeps its slot in swap for a while, so the memory
// of the device does not count as freed.
//
// It needs CAP_SYS_NICE for process_madvise and CAP_SYS_PTRACE for processes of other users. Shared
// memory is left out: pagemap does not show what of it lies in swap.
package prefetch
