// SPDX-License-Identifier: Apache-2.0

// Package require skips a test that needs what this machine lacks, and fails it instead if the
// environment says that the machine has it.
//
// A suite that skips everything is green and proves nothing. So each function here tries the real
// thing (it attaches a loop device, it mounts FUSE in a user namespace) instead of guessing from a
// version or a file name. The message of a failed trial holds its error and the command that fixes
// it. The environment variable ZRAMFS_REQUIRE holds a comma-separated list of requirements that
// must not be skipped:
//
//	ZRAMFS_REQUIRE=fuse,userns,root,loop,swap,zram,pages,commands,avx2 go test ./...
//
// An unknown name in that list fails every test that asks for anything: a misspelt requirement
// would otherwise protect nothing.
//
// Nothing is cached: what a machine can do changes while tests run (swap goes on and off, loop
// devices run out), and a trial takes milliseconds.
//
// The package is for tests alone; no program imports it. It leaves no mount, loop device or swap
// behind: mounts are made in a mount namespace that ends with the trial, and the loop device is
// detached before the function returns.
package require
