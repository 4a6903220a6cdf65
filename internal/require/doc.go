// SPDX-License-Identifier: Apache-2.0

// Package require skips a test that needs what this machine does not have, and
// makes that skip a failure where somebody said that the machine has it.
//
// A suite that skips everything is green and proves nothing. So each function
// here tries the real thing (it attaches a loop device, it mounts FUSE in a
// user namespace) instead of guessing from a version or a file name; when the
// trial fails, its error and the command that would mend it stand in the
// message. The environment variable ZRAMFS_REQUIRE holds a comma-separated list
// of requirements which must not be skipped:
//
//	ZRAMFS_REQUIRE=fuse,userns,root,loop,swap,zram,uring,pages,commands,avx2 go test ./...
//
// A name in that list which this package does not know fails every test that
// asks for anything, because a misspelt requirement would otherwise protect
// nothing.
//
// Nothing is cached: what a machine can do changes while tests run (swap goes on
// and off, loop devices run out), and a trial takes milliseconds.
//
// The package is for tests alone; no program imports it. It never leaves a mount,
// a loop device or swap behind: mounts are made in a mount namespace that ends
// with the trial, and the loop device is detached before the function returns.
package require
