// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// FlusherVariable is set in the environment of a process that BecomeIOFlusher has executed again.
// PR_GET_IO_FLUSHER is no substitute, since it needs the privilege of PR_SET_IO_FLUSHER.
const FlusherVariable = "ZRAMFS_IO_FLUSHER"

// BecomeIOFlusher sets PR_SET_IO_FLUSHER for every thread of the process. The flag belongs to a
// thread, new threads inherit it, and execve keeps it: so BecomeIOFlusher sets it on one thread and
// executes the program again, with the same arguments and descriptors. It must be the first call of
// a serving process. It returns in the second execution, or after an error.
func BecomeIOFlusher() status.Protection {
	p := status.Protection{Name: status.NameIOFlusher, State: status.OK, Detail: "no allocation of the process waits for writeback"}
	if os.Getenv(FlusherVariable) == "on" {
		if on, err := unix.PrctlRetInt(unix.PR_GET_IO_FLUSHER, 0, 0, 0, 0); err != nil || on != 1 {
			p.State, p.Detail = status.Warn, fmt.Sprintf("%s is set, but the kernel says otherwise (%d, %v)", FlusherVariable, on, err)
		}
		return p
	}
	p.State = status.Warn
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_IO_FLUSHER, 1, 0, 0, 0); err != nil {
		switch {
		case errors.Is(err, unix.EPERM):
			p.Detail = "taking memory may wait for write-back: run with CAP_SYS_RESOURCE"
		case errors.Is(err, unix.EINVAL):
			p.Detail = "taking memory may wait for write-back: use Linux 5.6 or later"
		default:
			p.Detail = err.Error()
		}
		return p
	}
	err := syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), FlusherVariable+"=on"))
	p.Detail = fmt.Sprintf("execute the program again: %v", err)
	return p
}

// ForbidCore sets RLIMIT_CORE to 0. A core dump would contain the secrets of all processes with
// swapped pages, and keep the device's descriptors open while the kernel writes it.
func ForbidCore() status.Protection {
	p := status.Protection{Name: status.NameCore, State: status.OK, Detail: "core dumps are off"}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		p.State, p.Detail = status.Warn, fmt.Sprintf("set RLIMIT_CORE to 0: %v", err)
	}
	return p
}

const selfStatus = "proc/self/status"

const oomScorePath = "/proc/self/oom_score_adj"

// oomNever is the score of a process that the OOM killer leaves alone.
const oomNever = -1000

// AvoidOOM asks the OOM killer to leave the process alone, or else for the lowest score that is
// allowed: without CAP_SYS_RESOURCE, the last one that a process with it has set.
func AvoidOOM() status.Protection {
	p := status.Protection{Name: status.NameOOM, State: status.OK, Detail: "oom_score_adj is -1000"}
	text, err := os.ReadFile(oomScorePath)
	now := 0
	if err == nil {
		now, err = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if err == nil && now == oomNever {
		return p
	}
	if denied := setOOMScore(oomNever); denied == nil {
		return p
	} else if errors.Is(denied, unix.EACCES) && err == nil {
		now = lowestOOMScore(now)
		p.Detail = fmt.Sprintf("the OOM killer may kill zramfs (oom_score_adj %d), which would lose swapped pages: run with CAP_SYS_RESOURCE", now)
	} else {
		p.Detail = "the OOM killer may kill zramfs, which would lose swapped pages: " + denied.Error()
	}
	p.State = status.Warn
	return p
}

// lowestOOMScore lowers the score from now as far as is allowed, and returns it.
func lowestOOMScore(now int) int {
	for denied := oomNever; now-denied > 1; {
		if score := denied + (now-denied)/2; setOOMScore(score) == nil {
			now = score
		} else {
			denied = score
		}
	}
	return now
}

func setOOMScore(score int) error {
	return os.WriteFile(oomScorePath, []byte(strconv.Itoa(score)), 0)
}

// LockMemory locks all present and future mappings of the process. It needs MCL_ONFAULT (Linux
// 4.4): without that the kernel would populate the sparse image, which is as large as the device.
func LockMemory() status.Protection {
	p := status.Protection{Name: status.NameMemory, State: status.Fail, Essential: true}
	limit, unlimited := lockLimit()
	flags := unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT
	if !unlimited {
		// With a limit, MCL_FUTURE would make a later mmap fail, and the Go runtime would end the
		// process.
		flags = unix.MCL_CURRENT | unix.MCL_ONFAULT
	}
	switch err := unix.Mlockall(flags); {
	case errors.Is(err, unix.EINVAL):
		p.Detail = "mlockall with MCL_ONFAULT needs Linux 4.4"
		return p
	case err != nil:
		p.Detail = "memory cannot be locked " + lockAdvice(limit, inFirstUserNamespace())
		return p
	case !unlimited:
		p.Detail = "only what was mapped at the start is locked " + lockAdvice(limit, inFirstUserNamespace())
		return p
	}
	locked, err := host.Local.Field(selfStatus, "VmLck")
	if err != nil {
		locked = "unknown"
	}
	p.State, p.Detail = status.OK, fmt.Sprintf("all memory is locked (VmLck %s of address space)", locked)
	return p
}

// lockAdvice says why memory cannot be locked beyond limit, and how to allow it. In a user
// namespace other than the first, root has the capability without its effect.
func lockAdvice(limit string, first bool) string {
	if !first {
		return fmt.Sprintf("(limit %s, and no user namespace but the first can exceed it): run outside of the namespace, or raise the "+
			"limit (LimitMEMLOCK=infinity)", limit)
	}
	return fmt.Sprintf("(limit %s, no CAP_IPC_LOCK): run with that capability, or raise the limit (LimitMEMLOCK=infinity)", limit)
}

// lockLimit returns RLIMIT_MEMLOCK as text, and whether the process may lock without limit. The
// capability has an effect in the first user namespace only.
func lockLimit() (text string, unlimited bool) {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim); err != nil {
		return fmt.Sprintf("unknown (%v)", err), false
	}
	if lim.Cur == unix.RLIM_INFINITY {
		return "unlimited", true
	}
	return fmt.Sprintf("%dK", lim.Cur>>10), hasCapability(host.CapIPCLock) && inFirstUserNamespace()
}

func hasCapability(c host.Capability) bool {
	has, err := host.Local.HasCapability(c)
	return err == nil && has
}

func inFirstUserNamespace() bool {
	first, err := host.Local.InFirstUserNamespace()
	return err == nil && first
}
