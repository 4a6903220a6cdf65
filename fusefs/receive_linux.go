// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Threads wait for requests in read(2). Two things have to get them out of it: the
// Go runtime, which stops the world now and then, and Stop. Both send a signal, and
// the runtime's handlers have the flag SA_RESTART, by which the kernel would take
// the read up again. So that flag goes, for the signal that the runtime preempts
// with. Whatever else is interrupted by it has to try again (the standard library
// does, as signal(7) tells it to).
//
// With that a thread may wait without telling the Go scheduler, which is worth a
// fifth of the time of a single request: it keeps its processor, and nobody has to
// find it one when a request comes. A thread that was interrupted while it waited
// is idle: the scheduler asks for the processor of whoever has held one for 10 ms.
// It waits the next time in a way that gives it up.

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

// interruptible takes SA_RESTART off the runtime's preemption signal, once.
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

// receive waits for a request. The Go scheduler knows of it if idle.
func receive(device int, room []byte, idle bool) (n int, errno syscall.Errno) {
	var r uintptr
	if idle {
		r, _, errno = syscall.Syscall(unix.SYS_READ, uintptr(device), uintptr(unsafe.Pointer(&room[0])), uintptr(len(room)))
	} else {
		r, _, errno = syscall.RawSyscall(unix.SYS_READ, uintptr(device), uintptr(unsafe.Pointer(&room[0])), uintptr(len(room)))
	}
	return int(r), errno
}

// lookFor is how long a thread looks for the next request before it goes to sleep.
const lookFor = 50 * time.Microsecond

// look looks for a request without sleeping, if one can be expected: whoever faults
// again and again waits for the last page before asking for the next, and waking a
// thread takes as long as serving a page. One thread does so at a time, and none where
// requests come side by side, or on a machine with one processor: whoever makes them
// has use for it.
func (t *thread) look() {
	if runtime.NumCPU() == 1 || t.beside > 0 || !t.page.pace.expects() || !t.c.looking.CompareAndSwap(false, true) {
		return
	}
	device := [1]unix.PollFd{{Fd: int32(t.c.device), Events: unix.POLLIN}}
	for end := time.Now().Add(lookFor); time.Now().Before(end); {
		n, _, _ := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&device[0])), 1, uintptr(unsafe.Pointer(&atOnce)), 0, 0, 0)
		if n != 0 { // a request, or an error that receiving tells
			break
		}
	}
	t.c.looking.Store(false)
}

// atOnce is the limit of a poll that does not wait.
var atOnce unix.Timespec

// send sends an answer. It does not wait, so the Go scheduler need not know. That
// nobody wants the answer any more (ENOENT), or that the connection has ended,
// which the next receive says too, is no error.
func (t *thread) send(answer []byte) {
	_, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(t.c.device), uintptr(unsafe.Pointer(&answer[0])), uintptr(len(answer)))
	switch errno {
	case 0, unix.ENOENT, unix.ENODEV, unix.ECONNABORTED, unix.EPERM:
	default:
		t.c.fs.failed("answer for", errno)
	}
}
