// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/callfail"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// classOf returns the scheduling class of a thread, 0 for the calling one.
func classOf(tid int) (uint32, error) {
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		return 0, err
	}
	return attr.Policy, nil
}

// needRealTime skips a test where the real-time class is denied.
func needRealTime(t *testing.T) {
	t.Helper()
	if p := CheckScheduling(); p.State != status.OK {
		t.Skip(p.Detail)
	}
}

// InRealTime calls its function in the real-time class and leaves that also after an error.
func TestInRealTime(t *testing.T) {
	needRealTime(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	failure := errors.New("no memory")
	for _, want := range []error{nil, failure} {
		inside := uint32(0)
		got := InRealTime(func() (err error) {
			inside, err = classOf(0)
			return errors.Join(err, want)
		})
		after, err := classOf(0)
		if !errors.Is(got, want) || inside != unix.SCHED_RR || after != unix.SCHED_NORMAL || err != nil {
			t.Errorf("class %d inside and %d after (%v), result %v; want %d, %d, %v", inside, after, err, got, unix.SCHED_RR, unix.SCHED_NORMAL, want)
		}
	}
}

// Threads that are made during the call are in the usual class.
func TestInRealTimeMakesUsualThreads(t *testing.T) {
	needRealTime(t)
	err := InRealTime(func() error {
		makeThreads(64)
		mine := unix.Gettid()
		for _, tid := range threads(t) {
			if class, err := classOf(tid); err == nil && class != unix.SCHED_NORMAL && tid != mine {
				return fmt.Errorf("thread %d has class %d", tid, class)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The check agrees with the capability and changes nothing.
func TestCheckScheduling(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := CheckScheduling()
	if may := hasCapability(host.CapSysNice); p.State == status.OK && !may && unix.Geteuid() == 0 || p.State == status.Warn && may && p.Detail == "" {
		t.Errorf("%+v, CAP_SYS_NICE %v", p, may)
	}
	if after, err := unix.SchedGetAttr(0, 0); err != nil || *after != *before {
		t.Errorf("%+v became %+v (%v)", before, after, err)
	}
}

// The class is left alone where the kernel would end the process for its time there.
func TestRealTimeIsLimited(t *testing.T) {
	needRealTime(t)
	inChild(t, "time-limit")
}

func childTimeLimit() error {
	const limit = 20 * time.Millisecond
	if err := unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: uint64(limit.Microseconds()), Max: uint64(limit.Microseconds())}); err != nil {
		return err
	}
	err := InRealTime(func() error {
		for begun := time.Now(); time.Since(begun) < 50*limit; { // without a pause
		}
		return nil
	})
	if p := CheckScheduling(); err != nil || p.State != status.Warn || !strings.Contains(p.Detail, "RLIMIT_RTTIME") {
		return fmt.Errorf("%+v, %w", p, err)
	}
	return nil
}

// Threads enter and leave the class at the same time: the race detector finds that they share
// nothing.
func TestRealTimeInManyThreads(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if err := InRealTime(func() error { return nil }); err != nil {
					t.Error(err)
				}
				CheckScheduling()
			}
		})
	}
	all.Wait()
}

// Without the capability the check warns, and InRealTime still calls its function.
func TestSchedulingDenied(t *testing.T) { inChild(t, "denied") }

func childDenied() error {
	runtime.LockOSThread()
	caps := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&caps, &none[0]); err != nil {
		return err
	}
	called := false
	err := InRealTime(func() error { called = true; return nil })
	if p := CheckScheduling(); p.State != status.Warn || p.Essential || !called || err != nil {
		return fmt.Errorf("%+v, called %v, %w", p, called, err)
	}
	return nil
}

// A program that is started in the real-time class has all its threads there until it leaves, and a
// short slice then.
func TestStartInRealTimeAndLeave(t *testing.T) {
	needRealTime(t)
	cmd := exec.Command("/proc/self/exe", "real-time")
	cmd.Stderr = os.Stderr
	if err := StartInRealTime(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func childRealTime() error {
	stop := make(chan struct{})
	var busy sync.WaitGroup
	defer busy.Wait()
	defer close(stop)
	if class, err := classOf(os.Getpid()); err != nil || class != unix.SCHED_RR {
		return fmt.Errorf("the first thread has class %d, %v", class, err)
	}
	for range 4 { // threads that make threads
		busy.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					makeThreads(3)
				}
			}
		})
	}
	if err := LeaveRealTime(); err != nil {
		return err
	}
	for range 20 {
		if changed, err := leaveRealTimeOnce(); changed != 0 || err != nil {
			return fmt.Errorf("%d threads were left in the real-time class, %v", changed, err)
		}
	}
	return shortSlices()
}

// A thread that cannot be changed at first is changed later, and keeps no other from that.
func TestLeaveRealTimeTriesAgain(t *testing.T) {
	other := usual
	other.Runtime = 30 * usual.Runtime
	failed := map[string]int{}
	for n := 1; ; n++ {
		var err error
		call := callfail.Nth(t, n, unix.EPERM, func() {
			_ = unix.SchedSetAttr(0, &other, 0) // so that there is a thread to change
			err = LeaveRealTime()
		})
		if failed[call]++; call == "" {
			break
		}
		if err != nil {
			t.Errorf("%s fails once, and then: %v", call, err)
		}
	}
	if failed["getdents64"] == 0 || failed["sched_setattr"] < 2 && short(t) {
		t.Errorf("calls that failed: %v", failed)
	}
}

// short reports whether the kernel has slices: from Linux 6.12 on.
func short(t *testing.T) bool {
	t.Helper()
	now, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return now.Runtime != 0
}

// shortSlices makes threads and checks that all have a short slice, where the kernel has slices.
func shortSlices() error {
	before, err := unix.SchedGetAttr(1, 0)
	if err != nil || before.Runtime == 0 { // before Linux 6.12
		return err
	}
	makeThreads(3)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			return err
		}
		now, err := unix.SchedGetAttr(tid, 0)
		if err == nil && now.Runtime != uint64(slice) {
			err = fmt.Errorf("thread %d has a slice of %d ns", tid, now.Runtime)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

func threads(t *testing.T) (all []int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		var tid int
		if _, err := fmt.Sscan(task.Name(), &tid); err != nil {
			t.Fatal(err)
		}
		all = append(all, tid)
	}
	return all
}
