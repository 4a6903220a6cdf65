// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel asks a supervisor (calls_supervisor_linux_test.go) about system calls of a process and
// of all that it starts: seccomp(2) with SECCOMP_FILTER_FLAG_NEW_LISTENER. A filter says which.

// untold are the calls that no filter tells of. They are those of the Go runtime, which ends the
// process where one fails, those that cannot fail, and close, which the kernel carries out even
// where it gives an error. getsockname and getsockopt fail for no socket; below a filter a signal
// interrupts them, and package net follows a nil pointer, or a worker sends a command away.
var untold = []uint32{
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_SCHED_YIELD, unix.SYS_GETTID,
	unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_EXIT,
	unix.SYS_EXIT_GROUP, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RESTART_SYSCALL,
	unix.SYS_SIGALTSTACK, unix.SYS_TGKILL, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_MUNMAP, unix.SYS_CLOSE, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_BRK, unix.SYS_SETITIMER,
	archCall, unix.SYS_GETRUSAGE, unix.SYS_GETRLIMIT, unix.SYS_SYSINFO, unix.SYS_SCHED_GETATTR, unix.SYS_UNAME,
	unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE, unix.SYS_MINCORE, unix.SYS_RSEQ,
	unix.SYS_GETSOCKNAME, unix.SYS_GETSOCKOPT,
}

// archCall is arch_prctl on amd64, by which each program begins.
const archCall = 158

// A told is a call that a filter tells of where one half of an argument, masked, is above a value.
type told struct {
	call     uint32
	argument int
	mask     uint32
	least    uint32
	negate   bool // told where it is not
}

// partly are the calls that belong to the runtime with some arguments, and to the program with
// others: memory without a file, threads, hints about memory; and the flags of descriptors, which
// cannot fail.
var partly = []told{
	{call: unix.SYS_MMAP, argument: 4, mask: ^uint32(0), least: ^uint32(0), negate: true},
	{call: unix.SYS_CLONE, argument: 0, mask: unix.CLONE_THREAD, least: 1, negate: true},
	{call: unix.SYS_MADVISE, argument: 2, mask: ^uint32(0), least: unix.MADV_POPULATE_READ},
	{call: unix.SYS_FCNTL, argument: 1, mask: ^uint32(0), least: unix.F_SETLK},
}

// pagePath are the calls of threads that serve pages, on the connections with the kernel. A device
// that is swapped to makes them without the supervisor, so that pages do not wait for it.
var pagePath = []uint32{unix.SYS_READ, unix.SYS_WRITE}

// servingFDs are the worker's descriptors of these connections; both are the daemon's constants.
var servingFDs = []uint32{5, 6}

// callFilter is the program of a filter. Without page path it tells of no reads and writes on
// servingFDs, whatever they are in another process.
func callFilter(withPages bool) []unix.SockFilter {
	const (
		number  = 0 // of struct seccomp_data, in bytes
		first   = 16
		allow   = unix.SECCOMP_RET_ALLOW
		tell    = unix.SECCOMP_RET_USER_NOTIF
		argSize = 8
	)
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	ret := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what} }
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	program := []unix.SockFilter{load(number)}
	for _, call := range untold {
		program = append(program, equal(call, 0, 1), ret(allow))
	}
	for _, c := range partly {
		yes, no := ret(tell), ret(allow)
		if c.negate {
			yes, no = no, yes
		}
		program = append(program, equal(c.call, 0, 5), load(first+uint32(c.argument)*argSize),
			unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: c.mask},
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: c.least, Jf: 1}, yes, no)
	}
	if !withPages {
		for _, call := range pagePath {
			body := []unix.SockFilter{load(first)}
			for _, fd := range servingFDs {
				body = append(body, equal(fd, 0, 1), ret(allow))
			}
			body = append(body, ret(tell))
			program = append(append(program, equal(call, 0, uint8(len(body)))), body...)
		}
	}
	return append(program, ret(tell))
}

// launchPart is the client that puts itself below a filter and becomes the program of its second
// argument. The first is "pages" or "no pages".
var launchPart = register("calls-launch", func(args []string) error {
	runtime.LockOSThread() // the thread that executes the program is the one with the filter
	filter := callFilter(args[0] == "pages")
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	environment := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, clientVariable+"=") })
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return syscall.Exec(args[1], append([]string{"zramfs"}, args[2:]...), environment)
})
