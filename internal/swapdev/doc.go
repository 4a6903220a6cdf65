// SPDX-License-Identifier: Apache-2.0

// Package swapdev makes devices with swap on them, finds them, and takes them away.
//
// [Up] is one run of up: a serving process, loop devices, swap areas, the record for other
// commands, kernel parameters, and the process that makes the kernel free slots. After an error or
// a signal the steps are undone in reverse. [Down] reads back what is in swap, after checking that
// it fits, and removes the device and its extra ones; [UnmountAndWait] ends a device without swap.
//
// [Find] finds devices in the mount table (type fuse.zramfs) and reads DIR/control/status of each.
// There is no PID file. up leaves a [uprecord.Record] for each DIR in /run/zramfs: the kernel
// parameters, and the loop devices, which cannot be found by the path of a hidden data file. Each
// entry is checked before it is used, so a stale one does no harm.
//
// Another process, which may be stopped or dead, serves the paths below DIR. Opening, reading or
// even stat of such a path can take for ever, so each access is made by package helper and has a
// time limit. Everything else comes from /proc and /sys, which answer whatever the server does.
//
// Find and the functions that only read are safe for concurrent use; a value of this package
// belongs to one goroutine. Nothing is cached between calls. Up and Down print each step on an
// io.Writer; a [Narration] keeps the warnings for a summary.
package swapdev
