// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"
)

// --all of upgrade hands over swap and data. That of down ends swap alone: a device that may hold
// data stays, and is an error.
func TestSwapEveryDevice(t *testing.T) {
	// down --all would end devices that are not the test's.
	if r := run(t, commandTimeout, "status"); r.Code != 3 {
		t.Skip("other devices are running")
	}
	for _, command := range []string{"upgrade", "down"} {
		if r := mustRun(t, commandTimeout, command, "--all"); r.Stdout != "" {
			t.Errorf("%s --all without a device says %q", command, r.Stdout)
		}
		if r := run(t, commandTimeout, command, "--all", "/run/zram"); r.Code != 2 || !strings.Contains(r.Stderr, "exclude each other") {
			t.Errorf("%s --all DIR: %+v", command, r)
		}
	}
	dir := swapDir(t)
	holds := mount(t, "--size", "16M")
	mustRun(t, commandTimeout, "up", "--size", "64M", dir)
	before := []int{statusOf(t, dir).WorkerPID, statusOf(t, holds).WorkerPID}
	r := mustRun(t, commandTimeout, "upgrade", "--all")
	for i, at := range []string{dir, holds} {
		if s := statusOf(t, at); s.WorkerPID == before[i] || !strings.Contains(r.Stdout, at+": process ") {
			t.Errorf("upgrade --all left %s to process %d: %s", at, before[i], r.Stdout)
		}
	}
	if r := run(t, commandTimeout, "upgrade", "--all", "--binary", "/bin/true"); r.Code != 1 ||
		!strings.Contains(r.Stderr, "upgrade "+dir) || !strings.Contains(r.Stderr, "upgrade "+holds) {
		t.Errorf("upgrade --all to another program: %+v", r)
	}
	r = run(t, downTimeout, "down", "--all")
	if want := "zramfs: " + holds + " is not swap and may hold data: zramfs umount " + holds + " ends it\n"; r.Code != 1 || r.Stderr != want ||
		!strings.Contains(r.Stdout, dir+" is down: ") {
		t.Errorf("down --all: %+v, want %q", r, want)
	}
	if left, err := swapOn(dir); err != nil || len(left) > 0 {
		t.Errorf("down --all left swap: %+v, %v", left, err)
	}
	if s := statusOf(t, holds); s.WorkerPID == 0 {
		t.Errorf("down --all ended %s", holds)
	}
}
