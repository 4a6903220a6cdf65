// SPDX-License-Identifier: Apache-2.0

// Package devices finds zramfs devices, asks each for its status, and says what is wrong with it.
//
// A device is found in the mount table (type fuse.zramfs) and asked through DIR/control/status.
// There is no PID file. up leaves a [Record] for each DIR in /run/zramfs: the kernel parameters,
// and the loop devices, which cannot be found by the path of a hidden data file. Each entry is
// checked before it is used, so a stale one does no harm.
//
// Another process, which may be stopped or dead, serves the paths below DIR. Opening, reading or
// even stat of such a path can take for ever, so each access is made by package aside and has a
// time limit. Everything else comes from /proc and /sys, which answer whatever the server does.
//
// Functions are safe for concurrent use; a value of this package belongs to one goroutine. Nothing
// is cached between calls.
package devices
