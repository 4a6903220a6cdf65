// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"zramfs/store"
)

// errno returns what the kernel is told of a store's error, and whether the
// error was expected. ENOSPC leaves a page that was to be swapped out in memory;
// EIO on reading one ends the process that wants it.
func errno(err error) (status fuse.Status, known bool) {
	switch {
	case err == nil:
		return fuse.OK, true
	case errors.Is(err, store.ErrFull):
		return fuse.Status(syscall.ENOSPC), true
	case errors.Is(err, store.ErrCorrupt):
		return fuse.EIO, true
	case errors.Is(err, store.ErrRange):
		return fuse.EINVAL, true
	}
	return fuse.EIO, false
}

// failed is errno, and logs an error which nobody expected, once a second at
// most. The store counts the others, and reports corrupt pages itself.
func (f *fileSystem) failed(verb string, err error) fuse.Status {
	status, known := errno(err)
	if known {
		return status
	}
	now, last := time.Now().Unix(), f.complaint.Load()
	if now != last && f.complaint.CompareAndSwap(last, now) {
		f.logf("%s dev/zram0: %v", verb, err)
	}
	return status
}
