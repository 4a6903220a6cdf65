// SPDX-License-Identifier: Apache-2.0

// Package loopsetup makes loop devices and swap areas by system calls, so that zramfs needs neither
// losetup nor mkswap nor swapon.
//
// Attach puts a loop device on a file, FormatSwap writes the header that makes it a swap area,
// SwapOn and SwapOff start and end its use, Detach removes it. Find, Inspect and Swaps read from
// /sys and /proc; they need no privilege and never touch the backing file, whose server may be
// dead.
//
// # Lifetime of a device
//
// Every device is attached with autoclear: the kernel detaches it when its last user closes it,
// unless Keep is called. The Device that Attach returns is such a user, and an active swap area is
// another. So a caller attaches, formats, calls SwapOn and then closes its Device; from then on the
// swap area alone keeps the loop device alive, and SwapOff detaches it even if the caller has long
// gone. A caller that dies half way leaves nothing behind.
//
// # Hazards
//
// Direct I/O is verified after attaching, since the kernel falls back to buffered I/O silently. A
// buffered loop device keeps a second copy of each page in the page cache, and writing that back
// needs the memory which swapping was to free.
//
// A process that serves a FUSE file system must not attach a file of that file system: the kernel
// sends requests to the server while the caller waits in the call.
//
// Two loop devices on the same bytes of one file are two views of them. Used as two swap areas they
// destroy each other's pages; the kernel does not notice. Ask Find before Attach. Slices
// (Config.Offset and SizeLimit) that do not overlap are separate areas.
//
// The kernel knows a file on a detached mount by its path below the root of that mount, which may
// be that of another file, or of none. FindAmong looks among recorded devices only; Info.Sequence
// and Identify say whether a recorded device is still the same.
//
// If the server of a swap area dies, every process with a page there dies too. SwapOff comes before
// the server stops.
//
// The kernel has no call that names a swap area by descriptor, and the system call packages have no
// wrapper for swapon(2). The path is therefore passed by pointer, which needs package unsafe in the
// file swapon_linux.go and nowhere else.
package loopsetup
