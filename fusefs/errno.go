// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/store"
)

// errno returns the error number for a store's error, and whether the error was expected. ENOSPC
// keeps a page that was to be swapped out in memory; EIO on reading one kills the process that
// needs it.
func errno(err error) (number syscall.Errno, known bool) {
	switch {
	case err == nil:
		return 0, true
	case errors.Is(err, store.ErrFull):
		return syscall.ENOSPC, true
	case errors.Is(err, store.ErrCorrupt):
		return syscall.EIO, true
	case errors.Is(err, store.ErrRange):
		return syscall.EINVAL, true
	}
	return syscall.EIO, false
}

// failed is errno, and logs unexpected errors, at most one a second. The store counts the others
// and reports corrupt pages itself.
func (f *fileSystem) failed(verb string, err error) syscall.Errno {
	number, known := errno(err)
	if known {
		return number
	}
	now, last := time.Now().Unix(), f.complaint.Load()
	if now != last && f.complaint.CompareAndSwap(last, now) {
		f.logf("%s dev/zram0: %v", verb, err)
	}
	return number
}
