// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/cmd/zramfs/protect"
	"github.com/zramfs/zramfs/store"
)

// imageProtection says what keeps the image itself out of swap, whoever dies. lock is what came of
// locking the keeper.
func imageProtection(kind store.MemoryKind, lock protect.Protection) protect.Protection {
	p := protect.Protection{Name: protect.NameImage, State: protect.StateOK, Detail: "what is stored lies on a tmpfs that is never swapped"}
	switch {
	case kind == store.MemoryNoswap:
	case holdsImage(kind, lock):
		p.Detail = "what is stored lies in a memfd, which worker and keeper both hold locked"
	default:
		p.State = protect.StateWarn
		p.Detail = fmt.Sprintf("what is stored lies in a %s, which nothing keeps out of swap once the worker has died: noswap needs "+
			"Linux 6.4 and CAP_SYS_ADMIN, a lock CAP_IPC_LOCK", kind)
	}
	return p
}

// holdsImage says whether the keeper locks the image: where the kernel could swap it, and the
// keeper may lock without limit. With a limit, the first lock beyond it would be a write that fails
// for want of memory that there is.
func holdsImage(kind store.MemoryKind, lock protect.Protection) bool {
	return kind == store.MemoryMemfd && lock.State == protect.StateOK
}

// holdFor makes the keeper lock what its next worker takes, and returns the worker's end of their
// conversation, which the caller closes once the worker has it; nil where there is nothing to hold.
func (k *keeper) holdFor() (*os.File, error) {
	if !k.holds {
		return nil, nil
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket to the worker: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "hold"), os.NewFile(uintptr(fds[1]), "holder")
	go func() {
		// Locking takes page tables. The thread is in the real-time class to have them from the kernel's
		// reserve, and ends with this goroutine, as one that is locked to it.
		runtime.LockOSThread()
		_ = protect.EnterRealTime() // where it is not allowed, whoever waits for a piece may wait longer
		err := k.memory.HoldFor(ours)
		if err = errors.Join(err, ours.Close()); err != nil {
			k.logger.Error("lock the image: " + err.Error())
		}
	}()
	return theirs, nil
}
