// SPDX-License-Identifier: Apache-2.0

// Package setup makes devices, turns swap on them, and undoes that.
//
// [Up] is one run of up: a serving process, loop devices, swap areas, the record for other
// commands, kernel parameters, and the process that makes the kernel free slots. [Up.Grow] does so
// with a further device of a directory. After an error or a signal the steps are undone in reverse.
// [Down] brings back what is in swap, after checking that it fits, and takes the device and further
// ones away; [UnmountAndWait] ends a device without swap.
//
// Each function says on an io.Writer what it did: a [Narration] keeps the warnings for a summary,
// any other writer gets a line for each step. A call that a stopped server could hold for ever is
// made by package aside. One goroutine uses a value of this package.
package setup
