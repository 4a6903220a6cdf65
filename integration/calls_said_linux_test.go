// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCallsAreSaid has calls fail without which a device goes on, in the foreground: the log says
// what is missing.
func TestCallsAreSaid(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	for _, c := range []struct {
		role, call string
		n          int
		again      bool
		want       string
	}{
		{"worker", "getdents64", 1, true, "leave the real-time class: readdirent /proc/self/task: cannot allocate memory"},
		{"worker", "getdents64", 1, true, "serving may wait for memory: readdirent /proc/self/task: cannot allocate memory"},
		{"worker", "mlockall", 1, true, "memory cannot be locked"},
		{"worker", "bind", 1, true, "imports will not be possible: "},
		{"keeper", "getdents64", 1, true, "replacing a worker may wait for memory: readdirent /proc/self/task: cannot allocate memory"},
		{"keeper", "fstatfs", 1, false, "a new worker may wait for the program's file: cannot allocate memory"},
		{"keeper", "mlockall", 1, true, "memory cannot be locked"},
		{"keeper", "bind", 1, true, "upgrade, verify, export and import are not possible: no directory for the sockets: listen unix "},
		{"keeper", "mkdirat", 1, true, "any local user can connect to the sockets of upgrade, verify, export and import, and is refused: no directory"},
	} {
		arm := armed{N: c.n, Again: c.again, Roles: []string{c.role}, Calls: []string{c.call}}
		a := inForeground(t, s, &arm)
		if a.Result.Code != 0 || a.Failing.Failed == 0 || !strings.Contains(a.Result.Stdout+a.Result.Stderr, c.want) {
			t.Errorf("after %s: exit code %d, and it says no %q: %s%s", a.Failing.What, a.Result.Code, c.want, a.Result.Stdout, a.Result.Stderr)
		}
	}
}

// inForeground mounts a device in the foreground, and unmounts it once it serves.
func inForeground(t *testing.T, s *supervising, arm *armed) callAnswer {
	t.Helper()
	dir := filepath.Join(tempDir(t), "zram")
	over, gone := make(chan struct{}), make(chan error, 1)
	go func() {
		for _, err := readStatus(dir); err != nil; _, err = readStatus(dir) {
			select {
			case <-over:
				gone <- nil
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		gone <- exec.Command(binary(t), "umount", dir).Run()
	}()
	a := s.run(t, arm, "mount", "--foreground", "--size", heldSize, dir)
	close(over)
	if err := <-gone; err != nil {
		t.Error(err)
	}
	wantGone(t, dir, a.Failing)
	return a
}
