// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// lockTime bounds the wait for the lock on the records.
const lockTime = 3 * time.Second

// lockRecords keeps other commands from reading and writing records until release is called: who
// restores kernel parameters asks whether another device still wants them, which may be about to go
// as well. Anybody who can read the directory could hold the lock, so it waits for a while only,
// and nothing fails without it.
func lockRecords(m host.Root) (release func()) {
	for end := time.Now().Add(lockTime); ; time.Sleep(10 * time.Millisecond) {
		f, err := os.Open(m.Path(recordDir))
		if err != nil {
			return func() {} // there are no records, or they are not for us to change
		}
		release = func() { _ = f.Close() } // a directory that was only locked
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil && inPlace(f, m.Path(recordDir)) || time.Now().After(end) {
			return release
		}
		release()
	}
}

// inPlace reports whether an open directory is still the one that has the name: the last record
// goes with it.
func inPlace(f *os.File, path string) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(is, named)
}
