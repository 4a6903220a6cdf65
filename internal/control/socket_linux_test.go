// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// names returns the names in a directory for sockets.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// reach connects to a socket and fails the test unless that is accepted there.
func reach(t *testing.T, dirs []string, name string, at *socket) {
	t.Helper()
	c, err := dial(dirs, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := at.SetDeadline(time.Now().Add(answerTime)); err != nil {
		t.Fatal(err)
	}
	accepted, err := at.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), accepted.Close()); err != nil {
		t.Error(err)
	}
}

// A socket takes a name over from a dead process, and from a living one.
func TestSocketTakesOver(t *testing.T) {
	dirs := []string{filepath.Join(t.TempDir(), "control")}
	old, guarded, err := listenAt(dirs, "name")
	if err != nil || guarded != nil {
		t.Fatal(err, guarded)
	}
	if err := old.UnixListener.Close(); err != nil { // as a process that was killed
		t.Fatal(err)
	}
	if _, err := dial(dirs, "name"); err == nil {
		t.Fatal("a dead socket answers")
	}
	first, _, err := listenAt(dirs, "name")
	if err != nil {
		t.Fatal(err)
	}
	reach(t, dirs, "name", first)
	second, _, err := listenAt(dirs, "name")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil { // it leaves the name to the other
		t.Error(err)
	}
	reach(t, dirs, "name", second)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dirs[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v, with %q", err, names(t, dirs[0]))
	}
}

// Only the names of dead processes are removed.
func TestSweep(t *testing.T) {
	dirs := []string{filepath.Join(t.TempDir(), "control")}
	dead, _, err := listenAt(dirs, "dead")
	if err != nil {
		t.Fatal(err)
	}
	alive, _, err := listenAt(dirs, "alive")
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.UnixListener.Close(); err != nil {
		t.Error(err)
	}
	sweepSockets(dirs)
	if left := names(t, dirs[0]); len(left) != 1 || left[0] != "alive" {
		t.Errorf("left are %q", left)
	}
	if err := alive.Close(); err != nil {
		t.Error(err)
	}
}

// Without a directory, or with one that other users can enter, the socket is an abstract one.
func TestSocketWithoutDirectory(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o755), os.Chmod(open, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(os.DevNull, "control"), open} {
		name := socketName(t.TempDir(), 0)
		s, unguarded, err := listenAt([]string{dir}, name)
		if err != nil {
			t.Fatal(err)
		}
		if unguarded == nil || s.path != "" {
			t.Errorf("in %s it is at %q, and guarded: %v", dir, s.path, unguarded)
		}
		reach(t, []string{dir}, name, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
