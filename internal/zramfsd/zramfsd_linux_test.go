// SPDX-License-Identifier: Apache-2.0

package zramfsd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

func announcement() *os.File { return os.NewFile(ReadyFD, "announcement") }

// childAnnounce announces facts of the process, and ends.
func childAnnounce() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	session, _, errno := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	facts := []status.Protection{
		{Name: "cwd", Detail: dir},
		{Name: "own-session", Detail: strconv.FormatBool(int(session) == os.Getpid())},
		{Name: "environment", Detail: strings.Join(os.Environ(), " ")},
	}
	for fd := range 3 {
		target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err != nil {
			return err
		}
		facts = append(facts, status.Protection{Name: fmt.Sprintf("fd%d", fd), Detail: target})
	}
	return status.WriteReady(announcement(), &status.Report{PID: os.Getpid(), Protections: facts})
}

func childFail() error {
	return status.WriteFailure(announcement(), &status.StartError{Message: "no device today", Code: 2})
}

// childFailTidily undoes what it has done once it has announced its failure.
func childFailTidily() error {
	made := os.Args[2]
	err := os.WriteFile(made, nil, 0o600)
	f := announcement()
	err = errors.Join(err, status.WriteFailure(f, &status.StartError{Message: "no device today", Code: 2}), f.Close())
	time.Sleep(20 * time.Millisecond) // a parent that does not wait kills it by then
	return errors.Join(err, os.Remove(made))
}

func childBabble() error {
	_, err := announcement().Write([]byte("?nonsense"))
	return err
}

func childHang() error {
	time.Sleep(time.Hour)
	return nil
}

// childDescriptors reports the descriptors that the process was started with, without those that
// every process has.
func childDescriptors() error {
	var open []string
	for fd := range 256 {
		target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err == nil && strings.HasSuffix(target, "/leaked") {
			open = append(open, target)
		}
	}
	return status.WriteReady(announcement(), &status.Report{PID: os.Getpid(), Dir: strings.Join(open, " ")})
}

// TestStart wants a child without terminal, with a session and a directory of its own, and without
// our environment.
func TestStart(t *testing.T) {
	t.Setenv("SECRET", "1")
	t.Setenv("ZRAMFS_KEPT", "1")
	report, err := Start("/proc/self/exe", []string{"announce"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range report.Protections {
		got[p.Name] = p.Detail
	}
	for name, want := range map[string]string{
		"cwd": "/", "own-session": "true", "fd0": "/dev/null", "fd1": "/dev/null", "fd2": "/dev/null",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	environment := strings.Fields(got["environment"])
	if slices.Contains(environment, "SECRET=1") || !slices.Contains(environment, "ZRAMFS_KEPT=1") {
		t.Errorf("environment %q", environment)
	}
}

// TestStartFailure wants each way of not becoming ready told apart, and no process left.
func TestStartFailure(t *testing.T) {
	tests := []struct {
		child string
		check func(error) bool
		text  string
	}{
		{"fail", func(err error) bool {
			var start *status.StartError
			return errors.As(err, &start) && start.Code == 2
		}, "no device today"},
		{"die", func(err error) bool { return errors.Is(err, status.ErrNoAnnouncement) }, "exit status 7"},
		{"babble", func(err error) bool { return err != nil }, "unexpected first byte"},
		{"hang", func(err error) bool { return err != nil }, "was not ready after 300ms and was killed"},
	}
	reap(t) // those that other tests left to themselves
	for _, test := range tests {
		t.Run(test.child, func(t *testing.T) {
			s, err := Begin("/proc/self/exe", []string{test.child})
			if err != nil {
				t.Fatal(err)
			}
			if s.timeout = 20 * time.Second; test.child == "hang" {
				s.timeout = 300 * time.Millisecond
			}
			report, err := s.Ready()
			if report != nil || !test.check(err) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("Ready returned %v, %v; want %q in the error", report, err, test.text)
			}
			var status syscall.WaitStatus
			if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
				t.Errorf("a child is left: %d, %v", pid, err)
			}
		})
	}
}

// A process that has announced its failure has the time to undo what it did.
func TestStartWaitsForTheEnd(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	var start *status.StartError
	if _, err := Start("/proc/self/exe", []string{"fail-tidily", made}); !errors.As(err, &start) {
		t.Error(err)
	}
	if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was ended before it was done: %v", err)
	}
}

// reap waits for all children.
func reap(t *testing.T) {
	t.Helper()
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.ECHILD) {
			return
		}
		if err != nil && !errors.Is(err, syscall.EINTR) {
			t.Fatal(err)
		}
	}
}

// Descriptors that this process has inherited are not passed on.
func TestStartDescriptors(t *testing.T) {
	path := t.TempDir() + "/leaked"
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT, 0o600) // inheritable
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	report, err := Start("/proc/self/exe", []string{"descriptors"})
	if err != nil {
		t.Fatal(err)
	}
	if report.Dir != "" {
		t.Errorf("the child has %s open", report.Dir)
	}
}

// The command and the keeper read what Args has written, for each role.
func TestArgs(t *testing.T) {
	algorithm, err := codec.Parse("zstd(level=5)")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Config{
		{Dir: "/run/zram", Algorithm: algorithm, Latency: pmqos.Auto, OnFull: store.FullSpill, Memory: store.MemoryAuto},
		{Dir: "-a b", Disksize: 1 << 30, Algorithm: algorithm, MemLimit: 7, Backing: "/srv/a b", SpillDaily: 9, OnFull: store.FullStall,
			Latency: pmqos.Off, Cold: 7, Scrub: time.Hour, Memory: store.MemoryMemfd, CreatedDir: true, Foreground: true},
	} {
		if got, err := Parse(want.Args(Keeper)[1:]); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		if got, err := Parse(want.Args(Worker)[1:]); err != nil || got.Backing != "" || got.Dir != want.Dir {
			t.Errorf("the worker's: %+v, %v", got, err)
		}
	}
	for _, args := range [][]string{nil, {"--new-flag=1", "--", "/run/zram"}, {"--algorithm=lz4", "--cold=5%", "--on-full=spill"}} {
		if _, err := Parse(args); err == nil || !strings.HasSuffix(err.Error(), ": install zramfs and zramfsd from one build") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestFind(t *testing.T) {
	beside, other := t.TempDir(), t.TempDir()
	if _, err := find(beside, other); err == nil || !strings.Contains(err.Error(), beside) || !strings.Contains(err.Error(), other) {
		t.Errorf("there is none: %v", err)
	}
	for _, dir := range []string{other, beside} { // the one next to is found first
		if err := os.WriteFile(filepath.Join(dir, Name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if path, err := find(beside, other); err != nil || path != filepath.Join(dir, Name) {
			t.Errorf("%s, %v, want the one in %s", path, err, dir)
		}
	}
}
