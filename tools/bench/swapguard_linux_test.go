// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// A guardedScene is a window without swap: a control group with a process, and settings that were
// changed.
type guardedScene struct {
	group    string
	settings []setting
	load     *exec.Cmd
	ended    chan error // of the load
	guard    *guardProcess
}

func guardScene(t *testing.T, limit time.Duration) *guardedScene {
	t.Helper()
	require.Swap(t) // the guard asks for swap areas, and turns its own off
	var made cleanup
	t.Cleanup(func() {
		if err := made.undo(); err != nil {
			t.Error(err)
		}
	})
	group, err := makeGroup("zramfs-bench-test-"+strconv.Itoa(os.Getpid()), 64<<20, &made)
	if err != nil {
		t.Fatal(err)
	}
	s := &guardedScene{group: group, load: exec.Command("sleep", "600"), ended: make(chan error, 1)}
	for _, value := range []string{"before", "20"} {
		one := setting{filepath.Join(t.TempDir(), "setting"), value}
		if err := os.WriteFile(one.path, []byte("changed"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.settings = append(s.settings, one)
	}
	if err := s.load.Start(); err != nil {
		t.Fatal(err)
	}
	// At once: a dead process stays in its group until it has been waited for.
	go func() { s.ended <- s.load.Wait(); close(s.ended) }()
	made.add(func() error {
		_ = s.load.Process.Kill() // the guard may have done it
		for range s.ended {
		}
		return nil
	})
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(s.load.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	if s.guard, err = startGuard(group, limit, s.settings); err != nil {
		t.Fatal(err)
	}
	return s
}

// wantActed checks that the guard did what ends a window, or that it did nothing.
func (s *guardedScene) wantActed(t *testing.T, acted bool) {
	t.Helper()
	for _, one := range s.settings {
		want := map[bool]string{true: one.value, false: "changed"}[acted]
		if got, err := os.ReadFile(one.path); err != nil || string(got) != want {
			t.Errorf("a setting is %q, %v; want %q", got, err, want)
		}
	}
	if _, err := os.Stat(s.group); (err != nil) != acted {
		t.Errorf("the control group: %v", err)
	}
	if acted {
		var exit *exec.ExitError
		if err := <-s.ended; !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
			t.Errorf("the process in the group: %v", err)
		}
	} else if err := s.load.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process in the group: %v", err)
	}
}

func TestGuardDismissed(t *testing.T) {
	s := guardScene(t, time.Minute)
	if err := s.guard.tell(orderConnection + "77"); err != nil {
		t.Error(err)
	}
	if err := s.guard.dismiss(); err != nil {
		t.Errorf("a guard that was not needed: %v", err)
	}
	s.wantActed(t, false)
}

func TestGuardActsWhenTheToolDies(t *testing.T) {
	s := guardScene(t, time.Minute)
	if err := s.guard.life.Close(); err != nil { // as the kernel does for a dead process
		t.Fatal(err)
	}
	if err := s.guard.ended(); err != nil {
		t.Errorf("the guard: %v", err)
	}
	s.wantActed(t, true)
}

func TestGuardActsAfterItsLimit(t *testing.T) {
	s := guardScene(t, 50*time.Millisecond)
	if line, err := s.guard.said.Peek(len(guardActed)); err != nil || string(line) != guardActed {
		t.Fatalf("it says %q, %v", line, err)
	}
	if err := s.guard.dismiss(); !errors.Is(err, errGuardActed) {
		t.Errorf("dismissed: %v", err)
	}
	s.wantActed(t, true)
}

// The connection of a loop device can be ended: users that wait for the server get an error.
func TestGuardAbortsTheConnection(t *testing.T) {
	needEverything(t)
	opts, err := parse([]string{"-binary", buildZramfs(t), "-size", "64M"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	var made cleanup
	t.Cleanup(func() { // a server that lost its connection leaves its directory
		if err := made.undo(); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
			t.Error(err)
		}
	})
	device, err := mountZramfs(opts, opts.contestants[0], &made)
	if err != nil {
		t.Fatal(err)
	}
	read := []string{"20", "dd", "if=" + device.path, "of=/dev/null", "bs=4096", "count=4", "iflag=direct"}
	if out, err := exec.Command("timeout", read...).CombinedOutput(); err != nil {
		t.Fatalf("read before: %v: %s", err, out)
	}
	connection, err := connectionOf(device.path)
	if err != nil {
		t.Fatal(err)
	}
	connections, err := openConnections()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(connections)
	g := &guard{connections: connections}
	if err := g.abort(connection); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("timeout", read...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Input/output error") {
		t.Errorf("read after: %v: %s", err, bytes.TrimSpace(out))
	}
	if err := g.abort(connection + "0000"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("abort of no connection: %v", err)
	}
}

func TestGuardRefusesArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"g"}, {"g", "soon"}, {"g", "1s", "f"}} {
		if err := playGuard(args, strings.NewReader(""), &bytes.Buffer{}); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
