// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

// imageProtection says how the image stays out of swap, also after the death of a process. lock is
// the keeper's protect.LockMemory.
func imageProtection(kind store.MemoryKind, lock status.Protection) status.Protection {
	p := status.Protection{Name: status.NameImage, State: status.OK, Detail: "stored pages lie on a tmpfs that is never swapped"}
	switch {
	case kind == store.MemoryNoswap:
	case locksImage(kind, lock):
		p.Detail = "stored pages lie in a memfd, which worker and keeper have both locked"
	default:
		p.State = status.Warn
		p.Detail = fmt.Sprintf("stored pages lie in a %s, which nothing keeps out of swap once the worker has died: noswap needs "+
			"Linux 6.4 and CAP_SYS_ADMIN, a lock CAP_IPC_LOCK", kind)
	}
	return p
}

// locksImage reports whether the keeper locks the image as well: it does where the kernel could
// swap the image and the keeper may lock without limit. With a limit, writes would fail at the
// first lock beyond it, although there is memory.
func locksImage(kind store.MemoryKind, lock status.Protection) bool {
	return kind == store.MemoryMemfd && lock.State == status.OK
}

// serveLocks makes the keeper lock each piece of an image that its next worker takes. It returns
// the worker's end of the socket, which the caller closes once the worker has it; nil where the
// keeper does not lock the image.
func (k *keeper) serveLocks(i *image) (*os.File, error) {
	if !k.locks {
		return nil, nil
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket to the worker: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "locks"), os.NewFile(uintptr(fds[1]), "locks")
	go func() {
		// Locking takes page tables, which the real-time class gets from the kernel's reserve. The
		// thread is locked to the goroutine and ends with it.
		runtime.LockOSThread()
		_ = protect.EnterRealTime() // where that is denied, the worker may wait longer
		err := i.memory.ServeLocks(ours)
		if err = errors.Join(err, ours.Close()); err != nil {
			k.logger.Error("lock the image: " + err.Error())
		}
	}()
	return theirs, nil
}
