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

// claimDir locks a directory as a serving process does that is about to mount on it, and reports whether none is.
func claimDir(dir string) (release func(), free bool) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {}, true // there is nothing to lock
	}
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	return func() { _ = unix.Close(fd) }, err != unix.EWOULDBLOCK // a directory that was only locked
}
