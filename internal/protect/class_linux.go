// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// When memory is short, the kernel gives a task of a real-time class half of its reserve below the
// lowest watermark (ALLOC_MIN_RESERVE in mm/page_alloc.c). Other tasks wait for reclaim, which may
// wait for us. So threads take memory that requests depend on in such a class: the store's
// maintainer, the keeper when it locks, and a worker until it serves. None stays there: a loop
// would take a processor from the whole machine.

// The two scheduling classes, real-time at the lowest priority and the usual one; immutable: system
// calls get copies.
var (
	realTime = unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	usual    = unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: uint64(slice)}
)

// slice is how long a thread of a serving process asks to run at a time, the least that the kernel
// takes (kernel/sched/syscalls.c, from Linux 6.12 on; earlier kernels ignore it). A thread that a
// request wakes then runs before one that has asked for more, and need not wait for milliseconds
// until another of the process has used up its slice: one that packs cold pages, for example.
const slice = 100 * time.Microsecond

// InRealTime calls take in the real-time class, or in the usual one where that is denied. After it
// the thread has the nice value of before: it may pack cold pages, behind others. Threads that the
// Go runtime makes during take are not in the class, since a thread that is locked to its goroutine
// makes none.
func InRealTime(take func() error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	back := usual
	if inverse, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
		back.Nice = int32(20 - inverse)
	}
	if toRealTime() == nil {
		defer func() { err = errors.Join(err, unix.SchedSetAttr(0, &back, 0)) }() // less privilege is always granted
	}
	return take()
}

// StartInRealTime starts a program in the real-time class, or in the usual one where that is
// denied. After an error no process is left.
func StartInRealTime(cmd *exec.Cmd) error {
	err := InRealTime(cmd.Start)
	if err != nil && cmd.Process != nil { // this thread could not leave the class
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed
	}
	return err
}

// EnterRealTime puts the calling thread into the real-time class and reports whether that is
// allowed. The thread must be locked to its goroutine until it ends.
func EnterRealTime() bool { return toRealTime() == nil }

// errTimeLimit means that the kernel would end the process for its time in the real-time class.
var errTimeLimit = errors.New("RLIMIT_RTTIME has a limit, and raising it needs the capability CAP_SYS_RESOURCE " +
	"(ulimit -R unlimited, LimitRTTIME=infinity)")

// toRealTime puts the calling thread into the real-time class, unless the time there is limited.
func toRealTime() error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_RTTIME, &limit) == nil && limit.Cur != unix.RLIM_INFINITY {
		return errTimeLimit
	}
	attr := realTime
	return unix.SchedSetAttr(0, &attr, 0)
}

// CheckScheduling tries to enter the real-time class. It leaves the thread as it was.
func CheckScheduling() status.Protection {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := status.Protection{Name: status.NameScheduling, State: status.OK,
		Detail: "memory is taken in the real-time class, from the kernel's reserve when it is short"}
	before, err := unix.SchedGetAttr(0, 0)
	if err == nil {
		err = toRealTime()
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
		p.Detail = fmt.Sprintf("the real-time class is not used, so that taking memory may wait for reclaim: %v", err)
	default:
		return p
	}
	p.State = status.Warn
	return p
}

// LeaveRealTime puts every thread of the process into the usual class, with a short slice, which
// threads that are made later have as well. It looks again until it has found none to change for
// some milliseconds, since a thread that was not changed yet may be about to make another, and
// where a thread could not be changed.
func LeaveRealTime() error {
	const passes = 3
	var err error
	for n, clean := 0, 0; n < 100; n++ {
		var changed int
		if changed, err = leaveRealTimeOnce(); changed > 0 || err != nil {
			clean = 0
		} else if clean++; clean == passes {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	if err == nil {
		err = errors.New("new threads come in it faster than they leave")
	}
	return fmt.Errorf("leave the real-time class: %w", err)
}

// leaveRealTimeOnce changes all threads that it can, and returns the error of one that it cannot.
func leaveRealTimeOnce() (changed int, failed error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0, err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			return changed, err
		}
		now, err := unix.SchedGetAttr(tid, 0)
		switch {
		case err == nil && now.Policy == unix.SCHED_RR:
			changed++
			attr := usual
			err = unix.SchedSetAttr(tid, &attr, 0)
		case err == nil && now.Policy == unix.SCHED_NORMAL && now.Runtime != 0 && now.Runtime != uint64(slice):
			changed++
			now.Runtime = uint64(slice)
			err = unix.SchedSetAttr(tid, now, 0)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			failed = fmt.Errorf("thread %d: %w", tid, err)
		}
	}
	return changed, failed
}
