// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of zramfs: one file for each subcommand, and what they share.
//
// It turns flags into calls and prints the results. Package internal/daemon serves a device, and
// package loopsetup attaches it; this package knows no byte of the image.
//
// It serves no device and asks none by itself: see packages daemon and devices.
//
// # Exit codes
//
// ownCodes has those of each command. In short:
//
//	0  done; for status: every device asked about is healthy
//	1  failure; for status: degraded; for doctor: a check fails; for verify: a page is wrong
//	2  usage: an unknown command or flag, a value that cannot be used
//	3  status and top only: not running
//	4  up only: a kubelet refuses swap
//
// An error is one line on standard error that begins with "zramfs: ".
package command
