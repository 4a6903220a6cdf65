// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/procpages"
)

// ErrKernel means that the kernel cannot read pages of another process ahead.
var ErrKernel = errors.New("this kernel has no process_madvise with MADV_WILLNEED")

// ErrPermission means that a capability is missing. It wraps fs.ErrPermission.
var ErrPermission = fmt.Errorf("%w: run as root, with CAP_SYS_PTRACE and CAP_SYS_NICE", fs.ErrPermission)

// A process is another process, whose pages come back. It is used by one goroutine.
type process struct {
	pid   int
	pidfd int
	parts []unix.RemoteIovec // of a call that asks
}

// newProcess returns a process without a number, whose buffers serve all.
func newProcess() *process {
	return &process{pidfd: -1, parts: make([]unix.RemoteIovec, 0, batchPages)}
}

// open turns to the process with this number.
func (p *process) open(pid int) error {
	if err := p.close(); err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT): // an ended process whose number lives on
		return procpages.ErrGone
	case err != nil:
		return fmt.Errorf("open process %d: %w", pid, explain(err))
	}
	p.pid, p.pidfd = pid, fd
	return nil
}

func (p *process) close() error {
	if p.pidfd < 0 {
		return nil
	}
	fd := p.pidfd
	p.pidfd = -1
	return unix.Close(fd)
}

// ask has the kernel start reading these runs, of at most batchPages in all. It goes on behind
// parts that the process has unmapped since.
func (p *process) ask(runs []procpages.Run) error {
	p.parts = p.parts[:0]
	for _, r := range runs {
		p.parts = append(p.parts, unix.RemoteIovec{Base: uintptr(r.First), Len: int(r.Pages) * procpages.PageSize})
	}
	for parts := p.parts; len(parts) > 0; {
		done, _, errno := unix.Syscall6(unix.SYS_PROCESS_MADVISE, uintptr(p.pidfd), uintptr(unsafe.Pointer(&parts[0])), uintptr(len(parts)),
			unix.MADV_WILLNEED, 0, 0)
		switch errno {
		case 0:
			parts = behind(parts, int(done))
		case unix.EINTR:
		case unix.ENOMEM: // the first part is no longer mapped
			parts = parts[1:]
		case unix.EBADF: // a mapping that cannot be read ahead
			parts = parts[1:]
		default:
			return fmt.Errorf("read pages of process %d ahead: %w", p.pid, explain(errno))
		}
	}
	return nil
}

// behind returns the parts behind the first done bytes, which end with a part.
func behind(parts []unix.RemoteIovec, done int) []unix.RemoteIovec {
	for len(parts) > 0 && done >= parts[0].Len {
		done -= parts[0].Len
		parts = parts[1:]
	}
	if done > 0 && len(parts) > 0 { // the kernel ends between parts; this is for one that does not
		parts[0].Base += uintptr(done)
		parts[0].Len -= done
	}
	return parts
}

// explain returns the error that callers know for one of these calls.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.ESRCH):
		return procpages.ErrGone
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return procpages.Explain(ErrPermission)
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
		return ErrKernel
	}
	return err
}
