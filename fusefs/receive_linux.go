// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Threads wait for requests in read(2). The Go runtime, which stops the world now and then, and
// Stop both interrupt them with a signal. The runtime's handlers have SA_RESTART, with which the
// kernel would resume the read, so interruptible removes that flag from the signal that the runtime
// preempts with. Other interrupted system calls then have to be retried, as the standard library
// does (signal(7)).
//
// So a thread may wait without telling the Go scheduler, which saves a fifth of the time of a
// single request: the thread keeps its processor (P) and needs none when a request comes. A thread
// that was interrupted while it waited is idle: the scheduler preempts holders of a P after 10 ms.
// Its next wait is a system call that the scheduler knows of, and releases the P.

const preemption = unix.SIGURG // sigPreempt in the runtime's signal_unix.go

// sigaction is struct sigaction of the kernel (not of libc) on amd64 and arm64.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

const (
	saRestart  = 0x10000000
	sigsetSize = 8
)

// interruptible removes SA_RESTART from the runtime's preemption signal, once.
var interruptible = sync.OnceValue(func() error {
	var action sigaction
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(preemption), 0, uintptr(unsafe.Pointer(&action)), sigsetSize, 0, 0)
	if errno != 0 {
		return errno
	}
	action.flags &^= saRestart
	_, _, errno = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(preemption), uintptr(unsafe.Pointer(&action)), 0, sigsetSize, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
})

// receive waits for a request. If idle, the Go scheduler knows that the thread waits.
func receive(device int, room []byte, idle bool) (n int, errno syscall.Errno) {
	var r uintptr
	if idle {
		r, _, errno = syscall.Syscall(unix.SYS_READ, uintptr(device), uintptr(unsafe.Pointer(&room[0])), uintptr(len(room)))
	} else {
		r, _, errno = syscall.RawSyscall(unix.SYS_READ, uintptr(device), uintptr(unsafe.Pointer(&room[0])), uintptr(len(room)))
	}
	return int(r), errno
}

// send sends an answer. It does not wait, so the Go scheduler need not know. It ignores ENOENT (the
// requesting process has been killed) and the end of the connection, which the next receive
// reports.
func (t *thread) send(answer []byte) {
	switch errno := transmit(t.c.device, answer); errno {
	case 0, unix.ENOENT, unix.ENODEV, unix.ECONNABORTED, unix.EPERM:
	default:
		t.c.fs.failed("answer for", errno)
	}
}

func transmit(device int, answer []byte) syscall.Errno {
	_, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(device), uintptr(unsafe.Pointer(&answer[0])), uintptr(len(answer)))
	return errno
}
