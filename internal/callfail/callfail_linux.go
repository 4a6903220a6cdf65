// SPDX-License-Identifier: Apache-2.0

// Package callfail has single system calls of a test fail, as they do where the machine lacks
// memory, descriptors or rights.
package callfail

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are those that may fail, by number. Close and munmap are left out: the kernel carries them
// out even where they give an error. So are read, write and fcntl, which the runtime makes as well
// while it keeps other goroutines from running, the one that answers too.
var calls = map[uint32]string{
	unix.SYS_FALLOCATE: "fallocate", unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_FSTAT: "fstat", unix.SYS_FSTATFS: "fstatfs",
	unix.SYS_STATFS: "statfs", unix.SYS_STATX: "statx", unix.SYS_LSEEK: "lseek", unix.SYS_OPENAT: "openat", unix.SYS_READLINKAT: "readlinkat",
	unix.SYS_PREAD64: "pread64", unix.SYS_PWRITE64: "pwrite64",
	unix.SYS_FLOCK: "flock", unix.SYS_MLOCK: "mlock", unix.SYS_MMAP: "mmap", unix.SYS_MADVISE: "madvise", unix.SYS_IOCTL: "ioctl",
	unix.SYS_MEMFD_CREATE: "memfd_create", unix.SYS_FSOPEN: "fsopen", unix.SYS_FSCONFIG: "fsconfig", unix.SYS_FSMOUNT: "fsmount",
	unix.SYS_MOVE_MOUNT: "move_mount", unix.SYS_OPEN_TREE: "open_tree", unix.SYS_UMOUNT2: "umount2", unix.SYS_MOUNT: "mount",
	unix.SYS_GETDENTS64: "getdents64", unix.SYS_MOUNT_SETATTR: "mount_setattr",
	unix.SYS_SCHED_SETATTR: "sched_setattr", statCall: "newfstatat",
}

// A filter tells of a call whose argument, masked, is one of values; the runtime makes the others.
var partly = []struct {
	call, argument, mask uint32
	values               []uint32
}{
	{unix.SYS_MADVISE, 2, ^uint32(0), []uint32{unix.MADV_DONTDUMP, unix.MADV_POPULATE_READ, unix.MADV_POPULATE_WRITE}},
	{unix.SYS_MMAP, 3, unix.MAP_POPULATE, []uint32{unix.MAP_POPULATE}},
	{unix.SYS_MMAP, 3, unix.MAP_ANONYMOUS, []uint32{0}},
}

// Nth runs f on a thread of its own, and has the n-th call there fail that may. It returns the name
// of that, or "" where f makes fewer. Other goroutines that f starts or waits for are spared. The
// caller looks at what f has done: f must not end the test.
func Nth(tb testing.TB, n int, errno unix.Errno, f func()) (failed string) {
	tb.Helper()
	listener, began, done := make(chan int), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: no other goroutine comes below the filter
		fd, err := filter()
		began <- err
		if err == nil {
			listener <- fd
			defer func() { // since the main thread does not end
				if _, _, errno := unix.Syscall(unix.SYS_IOCTL, noDescriptor, 0, 0); errno != unix.EBADF {
					tb.Errorf("the last call: %v", errno)
				}
			}()
			f()
		}
	}()
	switch err := <-began; {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		tb.Skipf("needs Linux 5.19, where signals leave calls alone that are asked about: %v", err)
	case err != nil:
		tb.Fatal(err)
	}
	fd := <-listener
	for count := 0; ; {
		asked := next(fd)
		last := asked.Call == unix.SYS_IOCTL && asked.Args[0] == noDescriptor
		var answer unix.Errno
		if count++; count == n && !last {
			failed, answer = calls[uint32(asked.Call)], errno
		}
		Answer(fd, asked.ID, answer)
		if last {
			break
		}
	}
	<-done
	if err := unix.Close(fd); err != nil {
		tb.Error(err)
	}
	return failed
}

// A Notice is struct seccomp_notif of the kernel: a thread waits in a call.
type Notice struct {
	ID         uint64
	PID, Flags uint32 // PID is the thread's
	Call       int32
	Arch       uint32
	IP         uint64
	Args       [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// Receive waits for a notice of a filter. It fails where the wait was interrupted, or the thread
// was killed or interrupted before (ENOENT).
func Receive(listener int) (n Notice, errno unix.Errno) {
	_, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
	return n, errno
}

// Answer lets a call go on, or fail. The thread may have been killed.
func Answer(listener int, id uint64, errno unix.Errno) {
	a := response{id: id, errno: -int32(errno)}
	if errno == 0 {
		a.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	for sent := unix.EINTR; sent == unix.EINTR; {
		_, _, sent = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
	}
}

// noDescriptor is what the last call of a thread is about.
const noDescriptor = 1<<32 - 1

// next waits for a call.
func next(listener int) Notice {
	for {
		if n, errno := Receive(listener); errno == 0 {
			return n
		}
	}
}

// filter has the kernel ask about the calls of this thread, and returns the descriptor where it
// does.
func filter() (listener int, err error) {
	const number, argument = 0, 16 // of struct seccomp_data
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	ret := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what} }
	equal := func(k uint32, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: no}
	}
	program := []unix.SockFilter{}
	some := map[uint32]bool{}
	for _, p := range partly {
		some[p.call] = true
		for _, v := range p.values {
			program = append(program, load(number), equal(p.call, 4), load(argument+8*p.argument),
				unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: p.mask}, equal(v, 1), ret(unix.SECCOMP_RET_USER_NOTIF))
		}
	}
	program = append(program, load(number))
	for call := range calls {
		if !some[call] {
			program = append(program, equal(call, 1), ret(unix.SECCOMP_RET_USER_NOTIF))
		}
	}
	program = append(program, ret(unix.SECCOMP_RET_ALLOW))
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, os.NewSyscallError("prctl", err)
	}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w", errno)
	}
	return int(fd), nil
}

// statCall is the number of newfstatat, whose name differs between the processors.
var statCall = map[string]uint32{"amd64": 262, "arm64": 79}[runtime.GOARCH]
