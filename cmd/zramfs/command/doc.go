// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of zramfs: one file for each subcommand, and what they share.
//
// It turns words into calls and results into words. What serves a device is in cmd/zramfs/daemon,
// what attaches one is in loopsetup; nothing here knows a byte of the image.
//
// A command finds running devices in the mount table (type fuse.zramfs) and asks each through
// DIR/control/status. There is no PID file. What up leaves for down lies in /run/zramfs, a record
// for each DIR (see record.go): the loop devices, which cannot be found by the path of a data file
// that is out of sight, and kernel parameters. Each entry is checked before it is used, so that a
// stale one does no harm.
//
// # Exit codes
//
//	0  done; for status: every device asked about is healthy
//	1  failure; for status: degraded; for doctor: something would fail; for verify: a page is wrong
//	2  usage: an unknown command or flag, a value that cannot be used
//	3  status only: not running
//
// An error is one line on standard error that begins with "zramfs: ".
//
// # Hazards
//
// A path below DIR is served by another process, which may be stopped or dead. Opening, reading or
// even stat of such a path can take for ever, so every access is made in a goroutine of its own and
// waited for with a limit (see bounded). Everything else comes from /proc and /sys, which answer
// whatever the server does.
package command
