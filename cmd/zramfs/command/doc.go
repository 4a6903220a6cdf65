// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of zramfs: one file for each subcommand, and what they share.
//
// It turns flags into calls and prints the results. Package cmd/zramfs/daemon serves a device, and
// package loopsetup attaches it; this package knows no byte of the image.
//
// A command finds running devices in the mount table (type fuse.zramfs) and asks each through
// DIR/control/status. There is no PID file. For down, up leaves a record for each DIR in
// /run/zramfs (see record.go): the kernel parameters, and the loop devices, which cannot be found
// by the path of a hidden data file. Each entry is checked before it is used, so a stale one does
// no harm.
//
// # Exit codes
//
//	0  done; for status: every device asked about is healthy
//	1  failure; for status: degraded; for doctor: a check fails; for verify: a page is wrong
//	2  usage: an unknown command or flag, a value that cannot be used
//	3  status only: not running
//
// An error is one line on standard error that begins with "zramfs: ".
//
// # Hazards
//
// Another process, which may be stopped or dead, serves the paths below DIR. Opening, reading or
// even stat of such a path can take for ever, so each access is made in another process (see aside)
// and has a time limit. Everything else comes from /proc and /sys, which answer whatever the server
// does.
package command
