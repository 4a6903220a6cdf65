// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/store"
)

// Modes of fallocate(2), from linux/falloc.h.
const (
	keepSize  = unix.FALLOC_FL_KEEP_SIZE
	punchHole = unix.FALLOC_FL_PUNCH_HOLE | keepSize
	zeroRange = unix.FALLOC_FL_ZERO_RANGE
)

// fallocate frees pages: punching a hole and zeroing a range both make bytes read as zeros, free
// whole pages, and rewrite the pages they cut through. Both take what block devices take
// (blkdev_fallocate in the kernel's block/fops.c), at any offset and length: a range that starts at
// the end or behind is EINVAL, one that ends behind is cut off if KEEP_SIZE allows, else EINVAL.
//
// Reserving space (mode 0, or KEEP_SIZE alone) succeeds inside the device and reserves nothing: the
// memory that a page will take is unknown before it is written, and a write may still fail with
// ENOSPC. If it were refused, posix_fallocate(3) of glibc would read and write every page instead.
// Beyond the end it is EFBIG: the device does not grow.
func (f *fileSystem) fallocate(w *store.Worker, mode uint32, off, length uint64) syscall.Errno {
	n := clip(off, length, f.size)
	switch mode {
	case punchHole, zeroRange | keepSize:
		if n == 0 {
			return unix.EINVAL
		}
	case zeroRange:
		if n == 0 || n < length {
			return unix.EINVAL
		}
	case 0, keepSize:
		if n < length {
			return unix.EFBIG
		}
		return 0
	default:
		return unix.EOPNOTSUPP
	}
	return f.zero(w, off, n)
}

// zero makes a range inside the device read as zeros. It frees whole pages first, to have memory
// for the pages that are rewritten.
func (f *fileSystem) zero(w *store.Worker, off, n uint64) syscall.Errno {
	h := holeOf(off, n)
	if h.count > 0 {
		w.Discard(h.first, h.count)
	}
	for _, p := range [...]part{h.head, h.tail} {
		if p.n == 0 {
			continue
		}
		if err := w.Zero(p.page, p.off, p.n); err != nil {
			return f.failed("zero", err)
		}
	}
	return 0
}
