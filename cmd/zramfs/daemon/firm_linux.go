// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// When memory is short the kernel lets a task of a real-time class have half of what it keeps below
// its lowest watermark (ALLOC_MIN_RESERVE in its mm/page_alloc.c), and others wait for reclaim,
// which may be waiting for us. So who takes memory that others depend on does it in such a class:
// the store's maintainer, the keeper when it locks, and a worker while it comes to life. Nobody
// stays there: it is no way to be faster, and a loop in it takes a processor from all the machine.

// The two classes of scheduling, real-time at the lowest priority and the usual one; immutable.
var (
	realTime = &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	usual    = &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
)

// firmly calls take in the real-time class, where that is allowed. It is what store.Config.Firmly
// wants. Threads that the Go runtime makes meanwhile are not in it: none are made by a thread that
// is locked to its goroutine.
func firmly(take func() error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.SchedSetAttr(0, realTime, 0) == nil {
		defer func() { err = errors.Join(err, unix.SchedSetAttr(0, usual, 0)) }() // less privilege is always granted
	}
	return take()
}

// startFirmly starts a program in the real-time class, where that is allowed. A worker leaves the
// class once it serves.
func startFirmly(cmd *exec.Cmd) error { return firmly(cmd.Start) }

// beFirm puts the calling thread, which must be locked to its goroutine for good, into the
// real-time class, and reports whether that is allowed.
func beFirm() bool { return unix.SchedSetAttr(0, realTime, 0) == nil }

// checkScheduling tells whether memory is taken firmly, by trying. It leaves the thread as it was.
func checkScheduling() Protection {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := Protection{Name: ProtectScheduling, State: StateOK,
		Detail: "memory is taken in the real-time class, from the kernel's reserve when it is short"}
	before, err := unix.SchedGetAttr(0, 0)
	if err == nil {
		err = unix.SchedSetAttr(0, realTime, 0)
	}
	if err == nil {
		err = unix.SchedSetAttr(0, before, 0)
	}
	switch {
	case errors.Is(err, unix.EPERM) && hasCapability(host.CapSysNice):
		p.Detail = "the real-time class is denied to this control group (cpu.rt_runtime_us of cgroup v1 is 0): when memory is " +
			"short, taking some waits for reclaim"
	case errors.Is(err, unix.EPERM):
		p.Detail = "the real-time class needs the capability CAP_SYS_NICE: when memory is short, taking some waits for reclaim"
	case err != nil:
		p.Detail = fmt.Sprintf("the real-time class: %v", err)
	default:
		return p
	}
	p.State = StateWarn
	return p
}

// leaveRealTime brings every thread of the process to the usual class. It looks again until it
// finds none to change, since one that was still to be changed may have made another.
func leaveRealTime() error {
	for range 100 {
		changed, err := leaveRealTimeOnce()
		if err != nil || changed == 0 {
			return err
		}
	}
	return errors.New("leave the real-time class: new threads come in it faster than they leave")
}

func leaveRealTimeOnce() (changed int, err error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0, fmt.Errorf("leave the real-time class: %w", err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			return changed, fmt.Errorf("leave the real-time class: %w", err)
		}
		now, err := unix.SchedGetAttr(tid, 0)
		if err == nil && now.Policy == unix.SCHED_RR {
			changed++
			err = unix.SchedSetAttr(tid, usual, 0)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			return changed, fmt.Errorf("leave the real-time class: thread %d: %w", tid, err)
		}
	}
	return changed, nil
}
