// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Lseek answers SEEK_DATA and SEEK_HOLE on the data file; empty pages are holes. The kernel does
// the rest itself. The search is bounded: SEEK_DATA may then return data of length 0, and SEEK_HOLE
// may pass over a hole. lseek(2) permits both.
func (f *fileSystem) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	if n := f.node(in.NodeId); n == nil || !n.isData() {
		return fuse.ENOSYS
	}
	next := f.store.NextStored
	switch in.Whence {
	case unix.SEEK_DATA:
	case unix.SEEK_HOLE:
		next = f.store.NextEmpty
	default:
		return fuse.EINVAL
	}
	if in.Offset >= f.size {
		return fuse.Status(unix.ENXIO)
	}
	out.Offset = max(next(in.Offset/pageSize)*pageSize, in.Offset)
	if in.Whence == unix.SEEK_DATA && out.Offset >= f.size {
		return fuse.Status(unix.ENXIO)
	}
	return fuse.OK
}

// SinceBoot returns the time since the machine was started, as ktime_get_boottime of the kernel. It
// is safe for concurrent use.
func SinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
