// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/cmd/zramfs/aside"
)

// openTime bounds the wait for the first answer of a new device.
const openTime = 3 * time.Second

// tryOpen opens path and closes it again.
func tryOpen(path string) error {
	_, err := aside.Within(openTime, aside.Open, path)
	return err
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
