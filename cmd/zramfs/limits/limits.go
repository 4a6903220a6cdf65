// SPDX-License-Identifier: Apache-2.0

// Package limits ends a program that may open too few files. It does so while the program is
// initialised: packages that open files then, go-fuse among them, would panic. Go initialises the
// packages that are ready in the order of their paths, so this one, which needs package syscall
// alone, comes before package os and all that use it.
package limits

import "syscall"

// leastFiles is the number of open files that any command may need.
const leastFiles = 64

func init() {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || l.Max >= leastFiles {
		return // package os raises the soft limit to the hard one
	}
	print("zramfs: fewer than 64 open files are allowed (ulimit -n): allow that many\n") // to standard error
	syscall.Exit(1)
}
