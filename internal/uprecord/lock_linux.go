// SPDX-License-Identifier: Apache-2.0

package uprecord

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
)

// lockTime bounds the wait for the lock on the records.
const lockTime = 3 * time.Second

// Lock keeps other commands from reading and writing records until release is called: a
// command that restores kernel parameters asks whether another device still wants them, and that
// device may be ending too. Every user with the right to read the directory could hold the lock, so
// Lock waits for lockTime at most and goes on without it.
func Lock(m host.Root) (release func()) {
	for end := time.Now().Add(lockTime); ; time.Sleep(10 * time.Millisecond) {
		f, err := os.Open(m.Path(Dir))
		if err != nil {
			return func() {} // no records, or no right to change them
		}
		release = func() { _ = f.Close() } // only locked, never written
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil && inPlace(f, m.Path(Dir)) || time.Now().After(end) {
			return release
		}
		release()
	}
}

// inPlace reports whether an open directory still has its name: removing the last record removes
// it.
func inPlace(f *os.File, path string) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(is, named)
}
