// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// classOf is the class of scheduling of a thread, 0 for the calling one.
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
	if p := checkScheduling(); p.State != StateOK {
		t.Skip(p.Detail)
	}
}

// What is called firmly runs in the real-time class, and nothing does after it, whether it succeeds
// or not.
func TestFirmly(t *testing.T) {
	needRealTime(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	failure := errors.New("no memory")
	for _, want := range []error{nil, failure} {
		inside := uint32(0)
		got := firmly(func() (err error) {
			inside, err = classOf(0)
			return errors.Join(err, want)
		})
		after, err := classOf(0)
		if !errors.Is(got, want) || inside != unix.SCHED_RR || after != unix.SCHED_NORMAL || err != nil {
			t.Errorf("class %d inside and %d after (%v), result %v; want %d, %d, %v", inside, after, err, got, unix.SCHED_RR, unix.SCHED_NORMAL, want)
		}
	}
}

// A thread that comes into being meanwhile is in the usual class.
func TestFirmlyMakesNoRealTimeThreads(t *testing.T) {
	needRealTime(t)
	err := firmly(func() error {
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

// The check tells what is so, and changes nothing.
func TestCheckScheduling(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := checkScheduling()
	if may := hasCapability(host.CapSysNice); p.State == StateOK && !may && unix.Geteuid() == 0 || p.State == StateWarn && may && p.Detail == "" {
		t.Errorf("%+v, CAP_SYS_NICE %v", p, may)
	}
	if after, err := unix.SchedGetAttr(0, 0); err != nil || *after != *before {
		t.Errorf("%+v became %+v (%v)", before, after, err)
	}
}

// Without the capability the check says so, and what is called firmly is called all the same.
func TestSchedulingDenied(t *testing.T) { inChild(t, "denied") }

func childDenied() error {
	runtime.LockOSThread()
	caps := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&caps, &none[0]); err != nil {
		return report(err)
	}
	called := false
	err := firmly(func() error { called = true; return nil })
	if p := checkScheduling(); p.State != StateWarn || p.Essential || !called || err != nil {
		return report(fmt.Errorf("%+v, called %v, %w", p, called, err))
	}
	return report(nil)
}

// A program that is started firmly has all its threads in the real-time class until it leaves.
func TestStartFirmlyAndLeave(t *testing.T) {
	needRealTime(t)
	cmd := exec.Command("/proc/self/exe", "real-time")
	cmd.Stderr = os.Stderr
	if err := startFirmly(cmd); err != nil {
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
	if err := leaveRealTime(); err != nil {
		return err
	}
	for range 20 {
		if changed, err := leaveRealTimeOnce(); changed != 0 || err != nil {
			return fmt.Errorf("%d threads were left in the real-time class, %v", changed, err)
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
