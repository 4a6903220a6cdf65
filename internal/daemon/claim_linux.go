// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// errClaimed means that another process is about to mount on the same directory.
var errClaimed = errors.New("another zramfs is being mounted there")

// claim locks the directory dir until release is called, so that only one of two processes that
// find it free at the same time mounts on it. The other finds the lock or, later, the mount. The
// lock stays on the directory below the mount.
func claim(dir string) (release func(), err error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open mount point %s: %w", dir, err)
	}
	release = func() { _ = unix.Close(fd) } // no data is lost if it fails
	switch err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		release()
		return nil, fmt.Errorf("mount point %s: %w", dir, errClaimed)
	case err != nil:
		release()
		return nil, fmt.Errorf("lock mount point %s: %w", dir, err)
	}
	return release, nil
}
