// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/loopsetup"
)

// TestUsers wants every user of a device named, with the command that frees it.
func TestUsers(t *testing.T) {
	loops := []loopsetup.Info{{Path: "/dev/loop7"}}
	tests := []struct {
		name string
		d    Device
		want string
	}{
		{"swap", Device{Loops: loops, Swaps: []loopsetup.Swap{{Path: "/dev/loop7"}}}, "/dev/loop7 is swapped to: zramfs down /run/zram"},
		{"file system", Device{Loops: loops, Mountpoint: "/mnt"}, "/dev/loop7 has a file system on /mnt: umount it, then losetup -d /dev/loop7"},
		{"loop", Device{Loops: loops}, "/dev/loop7 is on it: losetup -d /dev/loop7"},
		{"a process", Device{}, "fuser -vm /run/zram /run/zram/dev names it"},
	}
	for _, test := range tests {
		test.d.Dir = "/run/zram"
		if got := UsersOf(test.d); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// A device that is not mounted any longer has ended, unless its mount is elsewhere.
func TestEnded(t *testing.T) {
	d := Device{Dir: t.TempDir()}
	if !Ended(d) {
		t.Error("a device without a mount goes on")
	}
	if d.Elsewhere = true; Ended(d) {
		t.Error("a device in another mount namespace has ended")
	}
}

// startSleeper starts a process that ends when the returned function is called.
func startSleeper(t *testing.T) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return cmd.Process.Pid, func() {
		if err := stdin.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestServerWait wants the end of a process noticed, and a limit on the wait.
func TestServerWait(t *testing.T) {
	pid, end := startSleeper(t)
	fd, err := openPidfd(pid)
	if err != nil {
		t.Fatal(err)
	}
	s := server{pid: pid, pidfd: fd}
	defer s.close()
	if err := s.wait(20 * time.Millisecond); !errors.Is(err, errStillRunning) {
		t.Errorf("waited for a process that runs: %v", err)
	}
	end()
	if err := s.wait(10 * time.Second); err != nil {
		t.Errorf("waited for a process that has ended: %v", err)
	}
}

// TestServerWaitWithoutPidfd waits as on kernels before Linux 5.3.
func TestServerWaitWithoutPidfd(t *testing.T) {
	pid, end := startSleeper(t)
	defer end()
	if err := (server{pid: pid, pidfd: -1}).wait(20 * time.Millisecond); !errors.Is(err, errStillRunning) {
		t.Errorf("waited for a process that runs: %v", err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	if err := (server{pid: gone.Process.Pid, pidfd: -1}).wait(10 * time.Second); err != nil {
		t.Errorf("waited for a process that has ended: %v", err)
	}
}

// TestWatchServer wants other programs' processes ignored: a PID from another namespace may be any
// process here.
func TestWatchServer(t *testing.T) {
	for _, pid := range []int{0, 1<<22 + 1, os.Getpid()} {
		s, err := watchServer(Device{Keeper: pid})
		if err != nil {
			t.Errorf("%d: %v", pid, err)
		}
		if err := s.wait(0); err != nil {
			t.Errorf("%d: it is waited for: %v", pid, err)
		}
		s.close()
	}
}

// TestEndChildAsksAgain has a process refuse to end once, as a keeper does that has not heard of a
// closed file.
func TestEndChildAsksAgain(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap 'trap - TERM' TERM; echo ready; while :; do sleep 0.01; done`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // it may have ended
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if err := endChild(cmd.Process.Pid, 5*time.Second); err != nil {
		t.Error(err)
	}
}
