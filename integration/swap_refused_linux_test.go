// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"
)

// A step of up that fails undoes those before it.
func TestSwapUpUndoesItsSteps(t *testing.T) {
	for _, c := range []struct {
		name     string
		confined confinement
		size     string
		done     []string // the steps that came before
		words    []string // in the message
	}{
		{"loop", confinement{Cover: map[string]string{"/dev/loop-control": "/dev/null"}}, "64M",
			[]string{"mount ok"}, []string{"attach", "/dev/loop-control"}},
		// A swap area has ten pages at least.
		{"mkswap", confinement{}, "32K", []string{"mount ok", "loop ok"}, []string{"swap header", "from 10 to"}},
		{"swapon", confinement{NoSwapon: true}, "64M",
			[]string{"mount ok", "loop ok", "mkswap ok"}, []string{"swapon", "/dev/loop", "operation not permitted"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := swapDir(t)
			r := runConfined(t, c.confined, "up", "--size", c.size, dir)
			wantRefusal(t, r, c.words...)
			wantSteps(t, r.Stdout, c.done...)
			if strings.Contains(r.Stdout, "of swap at") {
				t.Errorf("it says that swap is on:\n%s", r.Stdout)
			}
			wantNothingLeft(t, dir)
		})
	}
}

// A value that cannot be is refused before anything is done.
func TestSwapUpRefusesUsage(t *testing.T) {
	dir := swapDir(t)
	for _, flags := range [][]string{{"--priority", "32768"}, {"--priority", "-2"}, {"--discard", "always"}} {
		r := run(t, commandTimeout, append(append([]string{"up", "--size", "64M"}, flags...), dir)...)
		if r.Code != 2 || r.Stdout != "" || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("%q: exit code %d:\n%s%s", flags, r.Code, r.Stdout, r.Stderr)
		}
		wantNothingLeft(t, dir)
	}
}

// Swap that could hang the machine is refused.
func TestSwapUpRefusesWithoutLockedMemory(t *testing.T) {
	dir := swapDir(t)
	r := runConfined(t, confinement{NoLock: true}, "up", "--size", "64M", dir)
	wantRefusal(t, r, "memory", "RLIMIT_MEMLOCK", "CAP_IPC_LOCK", "--force")
	wantNothingLeft(t, dir)
}

// Reclaim in a limited group of cgroup v1 can wait for the device itself, so its
// processes leave one where they may. Where they may not, as in a container, swap is
// refused.
func TestSwapUpRefusesLimitedGroup(t *testing.T) {
	h, err := memoryHierarchy()
	if err != nil || !h.v1 {
		t.Skipf("only the memory controller of cgroup v1 has this danger (%+v, %v)", h, err)
	}
	limited := confinement{Group: memoryGroup(t, "limited", 2<<30), ReadOnly: []string{h.top}}
	dir := swapDir(t)
	r := runConfined(t, limited, "up", "--size", "64M", dir)
	wantRefusal(t, r, "zramfs-test-limited", "2147483648", "could not be left", "read-only", "--force")
	wantNothingLeft(t, dir)
	if r := runConfined(t, limited, "doctor"); !strings.Contains(r.Stdout, "could not be left") {
		t.Errorf("doctor:\n%s", r.Stdout)
	}
}
