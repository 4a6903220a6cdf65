// SPDX-License-Identifier: Apache-2.0

package command

import "golang.org/x/sys/unix"

// tryOpen opens path and closes it again, waiting at most answerTime. It does not use package os, which would ask the
// file system whether the file can be polled.
func tryOpen(path string) error {
	_, err := bounded(answerTime, func() (struct{}, error) {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		for err == unix.EINTR {
			fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		}
		if err == nil {
			err = unix.Close(fd)
		}
		return struct{}{}, err
	})
	return err
}
