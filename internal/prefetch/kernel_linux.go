// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	looks []unix.RemoteIovec // of a call that looks: a byte of each page
	bytes [batchPages]byte   // what a look reads
}

// newProcess returns a process without a number, whose buffers serve all.
func newProcess() *process {
	return &process{pidfd: -1, parts: make([]unix.RemoteIovec, 0, batchPages), looks: make([]unix.RemoteIovec, 0, batchPages)}
}

// open turns to the process with this number.
func (p *process) open(pid int) error {
	if err := p.close(); err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT): // a thread, or an ended process whose number lives on
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			return fmt.Errorf("%d is a thread: name its process, which /proc/%d/status shows as Tgid", pid, pid)
		}
		err = unix.ESRCH
		fallthrough
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

// look reads a byte of each page of these runs, of at most batchPages in all, which waits for the
// reads under way and maps the pages. It leaves out pages that the process has freed since.
func (p *process) look(runs []procpages.Run) error {
	p.looks = p.looks[:0]
	for _, r := range runs {
		for page := range r.Pages {
			p.looks = append(p.looks, unix.RemoteIovec{Base: uintptr(r.First + page*procpages.PageSize), Len: 1})
		}
	}
	for looks := p.looks; len(looks) > 0; {
		here := unix.Iovec{Base: &p.bytes[0]}
		here.SetLen(len(looks))
		n, err := unix.ProcessVMReadv(p.pid, []unix.Iovec{here}, looks, 0)
		switch {
		case err == nil && n > 0:
			looks = looks[n:]
		case errors.Is(err, unix.EFAULT), errors.Is(err, unix.ENOMEM), err == nil:
			looks = looks[1:]
		case errors.Is(err, unix.EINTR):
		default:
			return fmt.Errorf("look at pages of process %d: %w", p.pid, explain(err))
		}
	}
	return nil
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
