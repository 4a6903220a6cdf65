// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/callfail"
)

// A callKind is a system call with the errors that it can give where it is used rightly: those of a
// machine without memory, descriptors, space or rights, and of damaged hardware.
type callKind struct {
	name   string
	errors []unix.Errno
}

// callKinds are the calls that are made to fail. Of read and write EAGAIN is not among the errors:
// on a descriptor that has data it would be a lie, after which the runtime waits for ever.
var callKinds = map[int32]callKind{
	unix.SYS_READ:              {"read", []unix.Errno{unix.EIO, unix.EINTR, unix.ENOMEM}},
	unix.SYS_PREAD64:           {"pread64", []unix.Errno{unix.EIO, unix.EINTR, unix.ENOMEM}},
	unix.SYS_WRITE:             {"write", []unix.Errno{unix.EIO, unix.ENOSPC, unix.EINTR, unix.EPERM}},
	unix.SYS_PWRITE64:          {"pwrite64", []unix.Errno{unix.EIO, unix.ENOSPC, unix.EINTR}},
	unix.SYS_OPENAT:            {"openat", []unix.Errno{unix.EMFILE, unix.ENOMEM, unix.EINTR, unix.EPERM, unix.EIO}},
	unix.SYS_MMAP:              {"mmap", []unix.Errno{unix.ENOMEM, unix.EPERM}},
	unix.SYS_MADVISE:           {"madvise", []unix.Errno{unix.ENOMEM, unix.EINTR, unix.EAGAIN}},
	unix.SYS_MLOCK:             {"mlock", []unix.Errno{unix.ENOMEM, unix.EAGAIN, unix.EPERM}},
	unix.SYS_MLOCK2:            {"mlock2", []unix.Errno{unix.ENOMEM, unix.EAGAIN, unix.EPERM}},
	unix.SYS_MLOCKALL:          {"mlockall", []unix.Errno{unix.ENOMEM, unix.EAGAIN, unix.EPERM}},
	unix.SYS_MEMFD_CREATE:      {"memfd_create", []unix.Errno{unix.EMFILE, unix.ENOMEM}},
	unix.SYS_FTRUNCATE:         {"ftruncate", []unix.Errno{unix.ENOSPC, unix.EIO, unix.EINTR}},
	unix.SYS_FALLOCATE:         {"fallocate", []unix.Errno{unix.ENOSPC, unix.EINTR, unix.EIO}},
	unix.SYS_PIPE2:             {"pipe2", []unix.Errno{unix.EMFILE, unix.ENFILE}},
	unix.SYS_DUP3:              {"dup3", []unix.Errno{unix.EMFILE, unix.EINTR}},
	unix.SYS_FCNTL:             {"fcntl", []unix.Errno{unix.EMFILE, unix.EINTR}},
	unix.SYS_CLONE:             {"clone", []unix.Errno{unix.EAGAIN, unix.ENOMEM}},
	unix.SYS_CLONE3:            {"clone3", []unix.Errno{unix.EAGAIN, unix.ENOMEM}},
	unix.SYS_EXECVE:            {"execve", []unix.Errno{unix.ENOMEM, unix.EIO, unix.EMFILE}},
	unix.SYS_WAIT4:             {"wait4", []unix.Errno{unix.EINTR}},
	unix.SYS_WAITID:            {"waitid", []unix.Errno{unix.EINTR}},
	unix.SYS_KILL:              {"kill", []unix.Errno{unix.EPERM}},
	unix.SYS_PPOLL:             {"ppoll", []unix.Errno{unix.ENOMEM, unix.EINTR}},
	unix.SYS_PIDFD_OPEN:        {"pidfd_open", []unix.Errno{unix.EMFILE, unix.ENOMEM}},
	unix.SYS_MOUNT:             {"mount", []unix.Errno{unix.ENOMEM, unix.EPERM}},
	unix.SYS_UMOUNT2:           {"umount2", []unix.Errno{unix.ENOMEM, unix.EPERM}},
	unix.SYS_FSOPEN:            {"fsopen", []unix.Errno{unix.EMFILE, unix.ENOMEM, unix.EPERM}},
	unix.SYS_FSCONFIG:          {"fsconfig", []unix.Errno{unix.ENOMEM, unix.EPERM, unix.EINTR}},
	unix.SYS_FSMOUNT:           {"fsmount", []unix.Errno{unix.EMFILE, unix.ENOMEM, unix.EPERM}},
	unix.SYS_MOVE_MOUNT:        {"move_mount", []unix.Errno{unix.ENOMEM, unix.EPERM}},
	unix.SYS_OPEN_TREE:         {"open_tree", []unix.Errno{unix.EMFILE, unix.ENOMEM, unix.EPERM}},
	unix.SYS_SWAPON:            {"swapon", []unix.Errno{unix.ENOMEM, unix.EPERM, unix.EINTR}},
	unix.SYS_SWAPOFF:           {"swapoff", []unix.Errno{unix.ENOMEM, unix.EINTR}},
	unix.SYS_IOCTL:             {"ioctl", []unix.Errno{unix.ENOMEM, unix.EIO, unix.EINTR}},
	unix.SYS_FLOCK:             {"flock", []unix.Errno{unix.ENOMEM, unix.EINTR}},
	unix.SYS_FSYNC:             {"fsync", []unix.Errno{unix.EIO, unix.ENOSPC}},
	unix.SYS_GETDENTS64:        {"getdents64", []unix.Errno{unix.EIO, unix.ENOMEM}},
	unix.SYS_FSTAT:             {"fstat", []unix.Errno{unix.EIO, unix.ENOMEM}},
	unix.SYS_STATX:             {"statx", []unix.Errno{unix.EIO, unix.ENOMEM}},
	unix.SYS_STATFS:            {"statfs", []unix.Errno{unix.EIO, unix.ENOMEM, unix.EINTR}},
	unix.SYS_FSTATFS:           {"fstatfs", []unix.Errno{unix.EIO, unix.ENOMEM, unix.EINTR}},
	unix.SYS_LSEEK:             {"lseek", []unix.Errno{unix.EIO}},
	unix.SYS_READLINKAT:        {"readlinkat", []unix.Errno{unix.EIO, unix.ENOMEM}},
	unix.SYS_MKDIRAT:           {"mkdirat", []unix.Errno{unix.ENOSPC, unix.EIO, unix.EPERM}},
	unix.SYS_UNLINKAT:          {"unlinkat", []unix.Errno{unix.EIO, unix.EPERM}},
	unix.SYS_RENAMEAT:          {"renameat", []unix.Errno{unix.ENOSPC, unix.EIO, unix.EPERM}},
	unix.SYS_LINKAT:            {"linkat", []unix.Errno{unix.ENOSPC, unix.EIO, unix.EPERM}},
	unix.SYS_FCHMODAT:          {"fchmodat", []unix.Errno{unix.EIO, unix.EPERM}},
	unix.SYS_FCHMOD:            {"fchmod", []unix.Errno{unix.EIO, unix.EPERM}},
	unix.SYS_SOCKET:            {"socket", []unix.Errno{unix.EMFILE, unix.ENOMEM}},
	unix.SYS_BIND:              {"bind", []unix.Errno{unix.ENOMEM, unix.EPERM}},
	unix.SYS_LISTEN:            {"listen", []unix.Errno{unix.ENOMEM}},
	unix.SYS_CONNECT:           {"connect", []unix.Errno{unix.ENOMEM, unix.EPERM}},
	unix.SYS_ACCEPT4:           {"accept4", []unix.Errno{unix.EMFILE, unix.ENOMEM, unix.EINTR}},
	unix.SYS_SENDMSG:           {"sendmsg", []unix.Errno{unix.ENOMEM, unix.EINTR}},
	unix.SYS_RECVMSG:           {"recvmsg", []unix.Errno{unix.ENOMEM, unix.EINTR}},
	unix.SYS_SENDTO:            {"sendto", []unix.Errno{unix.ENOMEM, unix.EINTR}},
	unix.SYS_RECVFROM:          {"recvfrom", []unix.Errno{unix.ENOMEM, unix.EINTR}},
	unix.SYS_SETSOCKOPT:        {"setsockopt", []unix.Errno{unix.ENOMEM, unix.EPERM}},
	unix.SYS_PRCTL:             {"prctl", []unix.Errno{unix.EPERM}},
	unix.SYS_PRLIMIT64:         {"prlimit64", []unix.Errno{unix.EPERM}},
	unix.SYS_SETSID:            {"setsid", []unix.Errno{unix.EPERM}},
	unix.SYS_SETPGID:           {"setpgid", []unix.Errno{unix.EPERM}},
	unix.SYS_SETPRIORITY:       {"setpriority", []unix.Errno{unix.EPERM}},
	unix.SYS_SCHED_SETATTR:     {"sched_setattr", []unix.Errno{unix.EPERM}},
	unix.SYS_GETRANDOM:         {"getrandom", []unix.Errno{unix.EINTR}},
	unix.SYS_COPY_FILE_RANGE:   {"copy_file_range", []unix.Errno{unix.EIO, unix.ENOSPC}},
	unix.SYS_CLOSE_RANGE:       {"close_range", []unix.Errno{unix.ENOMEM}},
	unix.SYS_PIDFD_SEND_SIGNAL: {"pidfd_send_signal", []unix.Errno{unix.EPERM}},
	unix.SYS_SCHED_SETAFFINITY: {"sched_setaffinity", []unix.Errno{unix.EPERM}},
	unix.SYS_CHDIR:             {"chdir", []unix.Errno{unix.EIO, unix.ENOMEM}},
}

// statCall is the number of newfstatat, whose name differs between the processors.
var statCall = map[string]int32{"amd64": 262, "arm64": 79}[runtime.GOARCH]

// kindOf returns what is known of a call. Calls that callKinds lacks lack rights.
func kindOf(number int32) callKind {
	if k, ok := callKinds[number]; ok {
		return k
	}
	if number == statCall {
		return callKind{"newfstatat", []unix.Errno{unix.EIO, unix.ENOMEM}}
	}
	return callKind{fmt.Sprintf("call %d", number), []unix.Errno{unix.EPERM}}
}

// errorFor chooses the error of the n-th call, so that calls next to each other have different
// ones. It never has a call interrupted each time, and returns 0 where that leaves no error.
func errorFor(call callfail.Notice, n int, again bool) unix.Errno {
	all := kindOf(call.Call).errors
	if call.Call == unix.SYS_READ || call.Call == unix.SYS_WRITE {
		all = transferErrors(all, call.Call, targetOf(call))
	}
	for i := range all {
		if e := all[(n+i)%len(all)]; !again || e != unix.EINTR {
			return e
		}
	}
	return 0
}

// transferErrors are those of all that reads and writes of a file can give: memory of the kernel
// takes and gives what there is, and a request that FUSE could not answer has ended.
func transferErrors(all []unix.Errno, call int32, file string) []unix.Errno {
	if file == "/dev/fuse" && call == unix.SYS_WRITE {
		return []unix.Errno{unix.EINTR}
	}
	for _, memory := range []string{"pipe:", "socket:", "anon_inode:"} {
		if strings.HasPrefix(file, memory) {
			return []unix.Errno{unix.EINTR}
		}
	}
	return all
}

// targetOf says what the first argument of a call leads to, where that is a descriptor.
func targetOf(call callfail.Notice) string {
	target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", call.PID, int32(call.Args[0])))
	if err != nil {
		return ""
	}
	return target
}
