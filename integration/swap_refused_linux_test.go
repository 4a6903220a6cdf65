// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A failed step of up undoes those before it.
func TestSwapUpUndoesItsSteps(t *testing.T) {
	for _, c := range []struct {
		name     string
		confined confinement
		size     string
		flags    []string
		done     []string // the steps that came before
		words    []string // in the message
	}{
		{"loop", confinement{Cover: map[string]string{"/dev/loop-control": "/dev/null"}}, "64M", nil,
			[]string{"mount ok"}, []string{"attach", "/dev/loop-control"}},
		{"swapon", confinement{NoSwapon: true}, "64M", nil,
			[]string{"mount ok", "loop ok", "mkswap ok"}, []string{"swapon", "/dev/loop", "operation not permitted"}},
		{"swapon of what is kept", confinement{NoSwapon: true}, "64M", []string{"--keep"},
			[]string{"mount ok", "loop ok", "mkswap ok"}, []string{"swapon", "/dev/loop", "operation not permitted"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := swapDir(t)
			r := runConfined(t, c.confined, append(append([]string{"up", "-v", "--size", c.size}, c.flags...), dir)...)
			wantRefusal(t, r, c.words...)
			wantSteps(t, r.Stdout, c.done...)
			if strings.Contains(r.Stdout, "swap is on") {
				t.Errorf("it says that swap is on:\n%s", r.Stdout)
			}
			wantNothingLeft(t, dir)
		})
	}
}

// up that cannot say what it has done undoes it.
func TestSwapUpSaysNothing(t *testing.T) {
	dir := swapDir(t)
	r := runCommand(t, commandTimeout, exec.Command("sh", "-c", `exec "$0" up --size 64M "$1" >/dev/full`, binary(t), dir))
	wantRefusal(t, r, "no space left on device")
	wantNothingLeft(t, dir)
}

// An invalid value is refused before anything is done.
func TestSwapUpRefusesUsage(t *testing.T) {
	dir := swapDir(t)
	for _, flags := range [][]string{{"--priority", "32768"}, {"--priority", "-2"}, {"--discard", "always"}, {"--size", "32K"}} {
		r := run(t, commandTimeout, append(append([]string{"up", "--size", "64M"}, flags...), dir)...)
		if r.Code != 2 || r.Stdout != "" || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("%q: exit code %d:\n%s%s", flags, r.Code, r.Stdout, r.Stderr)
		}
		wantNothingLeft(t, dir)
	}
}

// Swap that is not safe is refused.
func TestSwapUpRefusesWithoutLockedMemory(t *testing.T) {
	dir := swapDir(t)
	r := runConfined(t, confinement{NoLock: true}, "up", "--size", "64M", dir)
	wantRefusal(t, r, "not safe here", "memory cannot be locked (limit 64K, no CAP_IPC_LOCK)", "run with that capability", "LimitMEMLOCK", "--force", "Nothing was changed")
	wantNothingLeft(t, dir)
}

// up reports at once why swap cannot be used where it runs: without /sys it does not blame the loop
// driver, and in a user namespace it does not ask for root.
func TestSwapUpRefusesWhereSwapCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		how   syscall.SysProcAttr
		shell string
		words []string
	}{
		"no sys": {syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}, `umount -l /sys && exec "$@"`,
			[]string{"/sys is not mounted: mount it, or pass it into the container"}},
		"user namespace": {syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}}, `exec "$@"`,
			[]string{"this is a user namespace", "outside of it", "zramfs mount works here"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := swapDir(t)
			in := func(args ...string) result {
				cmd := exec.Command("sh", append([]string{"-c", c.shell, "sh", binary(t)}, args...)...)
				cmd.SysProcAttr = &c.how
				return runCommand(t, commandTimeout, cmd)
			}
			wantRefusal(t, in("up", "--size", "64M", dir), c.words...)
			wantNothingLeft(t, dir)
			r := in("doctor")
			if r.Code != 1 || !strings.HasPrefix(r.Stdout, "fail ") || !strings.Contains(r.Stdout, "\nResult: zramfs up would not work here: ") {
				t.Errorf("doctor: exit code %d:\n%s%s", r.Code, r.Stdout, r.Stderr)
			}
		})
	}
}

// Reclaim in a limited group of cgroup v1 can wait for the device itself, so its processes leave
// such a group. If they may not, as in a container, swap is refused.
func TestSwapUpRefusesLimitedGroup(t *testing.T) {
	h, err := memoryHierarchy()
	if err != nil || !h.v1 {
		t.Skipf("only the memory controller of cgroup v1 has this danger (%+v, %v)", h, err)
	}
	limited := confinement{Groups: []string{memoryGroup(t, "limited", 2<<30)}, ReadOnly: []string{h.top}}
	dir := swapDir(t)
	r := runConfined(t, limited, "up", "--size", "64M", dir)
	wantRefusal(t, r, "zramfs-test-limited", "2147483648", "could not be left", "read-only", "--force")
	wantNothingLeft(t, dir)
	if r := runConfined(t, limited, "doctor"); !strings.Contains(r.Stdout, "could not be left") {
		t.Errorf("doctor:\n%s", r.Stdout)
	}
}
