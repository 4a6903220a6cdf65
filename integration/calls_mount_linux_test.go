// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"path/filepath"
	"testing"
)

// mountOnce is mount with a call that fails: there is a device that works, or an error and nothing
// else.
func mountOnce(t *testing.T, s *supervising, arm armed) failing {
	t.Helper()
	dir := filepath.Join(tempDir(t), "zram")
	a := s.run(t, &arm, "mount", "--size", "16M", dir)
	wantNamed(t, a)
	if a.Result.Code == 0 {
		writeAndRead(t, dir)
		mustRun(t, commandTimeout, "umount", dir) // which waits for a keeper only that has taken its name
	}
	wantGone(t, dir, a.Failing)
	return a.Failing
}

// TestCallsOfMount fails the calls of mount, of the keeper and of its worker.
func TestCallsOfMount(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	l := callLoop{name: "mount", once: func(t *testing.T, arm armed) failing { return mountOnce(t, s, arm) }}
	l.run(t)
}

// TestCallsMountIsUndone has calls fail with which mount once left a device or a directory: the
// command could start no process to unmount it, or could not read the mount table.
func TestCallsMountIsUndone(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	for name, calls := range map[string][]int{"pipe2": {4, 5, 6}, "dup3": {6, 7, 8}, "openat": {12, 16, 20}, "clone": {2, 3}} {
		for _, n := range calls {
			f := mountOnce(t, s, armed{N: n, Again: true, Roles: []string{"mount"}, Calls: []string{name}})
			if t.Failed() || f.Failed == 0 && f.Count >= n {
				t.Fatalf("after %s, %d times of %d", f.What, f.Failed, f.Count)
			}
		}
	}
}

// TestCallsUmountTakesTheRest keeps the keeper from unmounting the attributes: umount removes them
// once it has ended.
func TestCallsUmountTakesTheRest(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	f := umountOnce(t, s, armed{N: 1, Again: true, Roles: []string{"keeper"}, Calls: []string{"umount2"}})
	if f.Failed == 0 {
		t.Errorf("nothing has failed: %+v", f)
	}
}
