// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/term"
)

// leastSpace is the address space that the processes of a device take without its image, in
// bytes; the image takes twice its size at most.
const leastSpace = 1792 << 20

// checkSpace refuses a device if a limit leaves too little address space: a process without any may
// die at any moment. An unknown limit counts as none.
func checkSpace(disksize uint64) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &l); err != nil || l.Cur == unix.RLIM_INFINITY {
		return nil
	}
	if want := leastSpace + 2*disksize; l.Cur < want {
		return fmt.Errorf("only %s of address space are allowed (ulimit -v), and a device of %s needs %s: ulimit -v unlimited",
			term.Size(l.Cur), term.Size(disksize), term.Size(want))
	}
	return nil
}

// claimDir locks a directory as a serving process does before it mounts there, and reports whether
// no such process holds the lock.
func claimDir(dir string) (release func(), free bool) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {}, true // nothing to lock
	}
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	return func() { _ = unix.Close(fd) }, err != unix.EWOULDBLOCK // only locked, never written
}
