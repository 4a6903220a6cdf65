// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"sync"
	"syscall"
	"time"
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

const (
	// sendTries and sendPause: an answer is sent again for a tenth of a second.
	sendTries = 100
	sendPause = time.Millisecond
)

// send sends an answer, as a rule at once, so the Go scheduler need not know. A request without an
// answer would keep its process waiting for ever: what the kernel does not take is sent again, and
// in the end EIO in its place.
func (t *thread) send(answer []byte) {
	errno := t.sendAgain(answer)
	if errno == 0 {
		return
	}
	t.c.fs.failed("answer for", errno)
	putOutHeader(answer, message(answer).unique(), unix.EIO, 0)
	_ = t.sendAgain(answer[:outHeaderSize]) // the kernel may have answered EIO by itself
}

// sendAgain sends an answer until the kernel takes it. It returns 0 also for ENOENT, the kernel
// knows no such request, since its process has been killed, and for the end of the connection,
// which the next receive reports.
func (t *thread) sendAgain(answer []byte) (errno syscall.Errno) {
	for try := range sendTries {
		if try > 0 {
			time.Sleep(sendPause)
		}
		switch errno = transmit(t.c.device, answer); errno {
		case 0, unix.ENOENT, unix.ENODEV, unix.ECONNABORTED, unix.EPERM:
			return 0
		}
	}
	return errno
}

func transmit(device int, answer []byte) syscall.Errno {
	_, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(device), uintptr(unsafe.Pointer(&answer[0])), uintptr(len(answer)))
	return errno
}
