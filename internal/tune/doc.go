// SPDX-License-Identifier: Apache-2.0

// Package tune sets parameters of the kernel for a device and gives them their old values back.
//
// A [Parameter] is a sysctl or any other file below /sys that holds one value, such as a parameter
// of a module. [Apply] has the caller keep the old values before it changes the first parameter, so
// a command that is killed at any instant leaves what [Restore] needs. Several devices may set the
// same parameter: they share its old value, and the last of them restores it. A value that another
// program has set since is left alone.
//
// Functions are not safe for concurrent use on one machine: the caller holds the lock on the
// records. No state is kept between calls.
package tune
