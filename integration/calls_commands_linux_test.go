// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCallsOfUmount fails the calls of umount and of the processes of the device: it is gone, or
// goes on as before.
func TestCallsOfUmount(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	l := callLoop{name: "umount", once: func(t *testing.T, arm armed) failing { return umountOnce(t, s, arm) }}
	l.run(t)
}

func umountOnce(t *testing.T, s *supervising, arm armed) failing {
	t.Helper()
	dir := filepath.Join(tempDir(t), "zram")
	s.mustRun(t, "mount", "--size", heldSize, dir)
	a := s.run(t, &arm, "umount", dir)
	wantNamed(t, a)
	if points, err := mountsBelow(dir); err != nil || a.Result.Code == 0 && len(points) > 0 {
		t.Errorf("umount has succeeded, and there are mounts %v, %v", points, err)
	} else if len(points) > 0 {
		writeAndRead(t, dir)
		takeBack(t, dir)
	}
	wantGone(t, dir, a.Failing)
	return a.Failing
}

// heldPatience is longer than a command waits for the worker or the keeper where its socket takes
// no connection: two minutes for import, and 100 seconds for upgrade.
const heldPatience = 150 * time.Second

// onHeld fails the calls of a command, one after the other, on a device that goes on.
func onHeld(t *testing.T, name string, once func(t *testing.T, h *held, arm armed) callAnswer) {
	t.Helper()
	needCalls(t)
	s := startSupervisor(t)
	s.patience = heldPatience
	h := hold(t, s)
	l := callLoop{name: name, once: func(t *testing.T, arm armed) failing {
		a := once(t, h, arm)
		wantNamed(t, a)
		h.wantWhole(t)
		return a.Failing
	}}
	l.run(t)
}

// TestCallsOfUpgrade fails the calls of upgrade, of the keeper and of both workers.
func TestCallsOfUpgrade(t *testing.T) {
	onHeld(t, "upgrade", func(t *testing.T, h *held, arm armed) callAnswer {
		return h.s.run(t, &arm, "upgrade", h.dir)
	})
}

// TestCallsOfVerify fails the calls of verify and of the processes of the device. It never says
// that all pages are right without having read them.
func TestCallsOfVerify(t *testing.T) {
	onHeld(t, "verify", func(t *testing.T, h *held, arm armed) callAnswer {
		return h.s.run(t, &arm, "verify", h.dir)
	})
}

// TestCallsOfExport fails the calls of export: the file is complete, or there is none.
func TestCallsOfExport(t *testing.T) {
	dir := tempDir(t)
	file := filepath.Join(dir, "pages")
	want := heldContent(heldSeed)
	onHeld(t, "export", func(t *testing.T, h *held, arm armed) callAnswer {
		a := h.s.run(t, &arm, "export", h.dir, file)
		got, err := os.ReadFile(file)
		if err == nil && len(got) >= len(want) {
			err = difference(got[:len(want)], want, 0)
		}
		if (a.Result.Code == 0 || !errors.Is(err, fs.ErrNotExist)) && err != nil {
			t.Errorf("exit code %d, and the file has %d bytes: %v", a.Result.Code, len(got), err)
		}
		_ = os.Remove(file) // there may be none
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
			for _, f := range left {
				_ = os.Remove(filepath.Join(dir, f.Name()))
			}
		}
		return a
	})
}

// TestCallsOfImport fails the calls of import: the device has all pages of the file, or after an
// error each page as it was or as the file has it.
func TestCallsOfImport(t *testing.T) {
	dir := tempDir(t)
	other, before := filepath.Join(dir, "other"), filepath.Join(dir, "before")
	for file, seed := range map[string]uint64{other: otherSeed, before: heldSeed} {
		if err := os.WriteFile(file, heldContent(seed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	onHeld(t, "import", func(t *testing.T, h *held, arm armed) callAnswer {
		a := h.s.run(t, &arm, "import", other, h.dir)
		what := "either"
		if a.Result.Code == 0 {
			what = "other"
		}
		client(t, heldPart, what, h.dir)
		mustRun(t, commandTimeout, "import", before, h.dir)
		return a
	})
}

// TestCallsAreNamed has calls fail whose errors commands once kept to themselves: the keeper and
// the worker sent a command away without a reason, and a socket's error was lost to the next one's.
func TestCallsAreNamed(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	h := hold(t, s)
	file := filepath.Join(tempDir(t), "pages")
	mustRun(t, commandTimeout, "export", h.dir, file)
	for _, c := range []struct {
		args       []string
		role, call string
		again      bool
	}{
		{[]string{"import", file, h.dir}, "worker", "pread64", false},
		{[]string{"import", file, h.dir}, "worker", "openat", true},
		{[]string{"verify", h.dir}, "keeper", "openat", false},
		{[]string{"upgrade", h.dir}, "upgrade", "connect", false},
	} {
		for n := 1; n <= 3; n++ {
			a := s.run(t, &armed{N: n, Again: c.again, Roles: []string{c.role}, Calls: []string{c.call}}, c.args...)
			wantNamed(t, a)
			if n == 1 && a.Failing.Failed == 0 {
				t.Errorf("%q makes no call that fails: %+v", c.args, a.Failing)
			}
		}
	}
}

// TestCallsOfCommands fails the calls of commands that look at a device or change it: they make
// their files, or say why not and leave none. The file is there where a command could not print, or
// does not know that the directory is on the disk.
func TestCallsOfCommands(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	h := hold(t, s)
	dir := tempDir(t)
	file := filepath.Join(dir, "file")
	for _, args := range [][]string{
		{"list", "--json"}, {"top", "-b", "-d", "0.1", "-n", "1", h.dir}, {"metrics", "--json"}, {"events", h.dir}, {"trace", "--perfetto", file, h.dir},
		{"set", h.dir, "mem_limit=1G"}, {"compact", h.dir}, {"idle", h.dir}, {"snapshot", "save", h.dir, file},
	} {
		l := callLoop{name: args[0], roles: []string{args[0], "helper"}, once: func(t *testing.T, arm armed) failing {
			a := s.run(t, &arm, args...)
			wantNamed(t, a)
			late := strings.Contains(a.Failing.What, ": write: ") && strings.Contains(a.Failing.On, "/zramfs-calls-") ||
				strings.Contains(a.Failing.What, ": fsync: ") && a.Failing.On == dir
			if !late {
				wantFile(t, file, a.Result.Code == 0, slices.Contains(args, file), args[0] == "snapshot")
			}
			_ = os.Remove(file) // there may be none
			h.wantWhole(t)
			return a.Failing
		}}
		t.Run(args[0], l.run)
	}
}

// wantFile checks that a command has made a file where it succeeded, and left none where it failed,
// except what a snapshot goes on with; and removes it.
func wantFile(t *testing.T, file string, succeeded, wanted, partial bool) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Error(err)
	}
	made := false
	for _, f := range left {
		switch {
		case f.Name() == filepath.Base(file):
			made = true
		case succeeded || !partial || f.Name() != filepath.Base(file)+".partial":
			t.Errorf("%s is left", f.Name())
		}
		_ = os.Remove(filepath.Join(filepath.Dir(file), f.Name()))
	}
	if made != (succeeded && wanted) {
		t.Errorf("there is a file: %v; the command has succeeded: %v", made, succeeded)
	}
}
