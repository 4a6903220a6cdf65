// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/zramfs/zramfs/internal/host"
)

// groupsCase is a tree of files as a machine would show them, testdata/groups/NAME being its root
// directory, and what has to be said of it.
type groupsCase struct {
	name      string
	returning uint64
	other     uint64   // free in other swap
	words     []string // of the error; none where it fits
	warning   string   // beginning of what is printed
}

// everything is more than any group of testdata has in swap.
const everything = 8 << 30

func TestDownGroupsV1(t *testing.T) {
	const mib, advice = 1 << 20, ", and the kernel would kill programs there; raise memory.limit_in_bytes, stop programs, wait (--wait 60), or use --force"
	checkGroupsCases(t, []groupsCase{
		// 80 MiB and 4 MiB that are locked, 292 MiB to come back, 3 MiB of margin
		{"v1-cramped", everything, 282 * mib, []string{"not stopped: bringing swap back would exceed the memory limit of " +
			"/sys/fs/cgroup/memory/pressure (needs 379M with a margin: 84M in memory, up to 292M coming back; limit 96M)" + advice}, ""},
		// The rest goes to other swap.
		{"v1-cramped", everything, 283 * mib, nil, "groups        ok    283M of 1 groups go to other swap, where 283M are free"},
		{"v1-cramped", 13 * mib, 0, []string{"/pressure (needs 100M", "up to 13M coming back"}, ""},
		{"v1-cramped", 9 * mib, 0, nil, ""}, // no more can come back than there is
		{"v1-together", everything, 0, []string{"memory/pod (needs 154M with a margin: 120M in memory, up to 30M", advice}, ""},
		{"v1-container", everything, 0, []string{"/sys/fs/cgroup/memory (needs", "limit 100M)" + advice}, ""},
		{"v1-uncounted", everything, 0, nil, "groups        warn  the kernel does not count swap by control group (boot with " +
			"swapaccount=1): in the 1 with a memory limit"},
		{"v1-garbled", everything, 0, []string{"cannot check", "/sys/fs/cgroup/memory/a/memory.stat", "--force"}, ""},
		{"v1-gone", everything, 0, nil, ""},
		{"none", everything, 0, nil, ""},
	})
}

func TestDownGroupsV2(t *testing.T) {
	const advice = ", and the kernel would kill programs there; raise memory.max, stop programs, wait (--wait 60), or use --force"
	checkGroupsCases(t, []groupsCase{
		{"v2-cramped", everything, 0, []string{"the memory limit " +
			"of /sys/fs/cgroup/kubepods.slice (needs 1.1G with a margin: 700M in memory, up to 400M coming back; limit 1000M), " +
			"of /sys/fs/cgroup/system.slice/a.service (needs 217.3M with a margin: 151M in memory, up to 60M coming " +
			"back; limit 200M)" + advice}, ""},
		{"v2-read-back", everything, 0, nil, ""}, // a page in both places is counted once
		{"v2-container", everything, 0, []string{"/sys/fs/cgroup (needs 123.1M", advice}, ""},
		{"v2-uncounted", everything, 0, nil, "groups        warn  "},
		{"v2-garbled", everything, 0, []string{"cannot check", "/sys/fs/cgroup/a/memory.max", "--force"}, ""},
	})
}

func checkGroupsCases(t *testing.T, cases []groupsCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s/%d", c.name, c.returning), func(t *testing.T) {
			var out strings.Builder
			err := checkGroups(&out, host.Root(filepath.Join("testdata/groups", c.name)), fit{used: c.returning, otherFree: c.other})
			wantWords(t, err, c.words)
			if c.warning == "" && out.Len() > 0 || !strings.HasPrefix(out.String(), c.warning) {
				t.Errorf("printed %q, want %q", out.String(), c.warning)
			}
		})
	}
}

// wantWords wants an error of one line with all these words, and none where there are no words.
func wantWords(t *testing.T, err error, words []string) {
	t.Helper()
	if (err != nil) != (len(words) > 0) {
		t.Fatalf("error %v, want %q", err, words)
	}
	for _, w := range words {
		if text := err.Error(); !strings.Contains(text, w) || strings.Contains(text, "\n") {
			t.Errorf("error %q, want %q", text, w)
		}
	}
}

// TestDownGroupsNamesTheWorst wants few groups named of many, and the first those that lack the
// most.
func TestDownGroupsNamesTheWorst(t *testing.T) {
	m := manyGroups(t, 7)
	err := checkGroups(&strings.Builder{}, m, fit{used: 1 << 30})
	wantWords(t, err, []string{"limit of /cgroup/g7 (needs", ", of /cgroup/g6 (needs", ", of /cgroup/g5 (needs", "64M), and 4 more, and the kernel"})
	if strings.Contains(err.Error(), "/cgroup/g4 ") {
		t.Errorf("too many groups: %v", err)
	}
}

// TestDownGroupsTakesLimitedTime wants a walk to end when its time is over.
func TestDownGroupsTakesLimitedTime(t *testing.T) {
	m := manyGroups(t, 2)
	h, err := m.MemoryHierarchy()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readGroups(h, 1<<30, -time.Second); !errors.Is(err, errManyGroups) {
		t.Errorf("after its time: %v", err)
	}
	if found, err := readGroups(h, 1<<30, time.Minute); err != nil || len(found.cramped) != 2 {
		t.Errorf("within its time: %+v, %v", found, err)
	}
}

// manyGroups returns a machine with n groups of cgroup v2 whose limit of 64 MiB is too low, the
// later the more.
func manyGroups(t *testing.T, n int) host.Root {
	t.Helper()
	files := fstest.MapFS{}
	add := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644} }
	add("proc/self/mountinfo", "41 31 0:38 / /cgroup rw - cgroup2 cgroup2 rw\n")
	add("cgroup/cgroup.controllers", "cpu memory\n")
	for i := 1; i <= n; i++ {
		dir := fmt.Sprintf("cgroup/g%d/", i)
		add(dir+"memory.max", "67108864\n")
		add(dir+"memory.swap.current", fmt.Sprintln(i<<20))
		add(dir+"memory.stat", "active_anon 66060288\ninactive_anon 0\nunevictable 0\n")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	return host.Root(dir)
}

// TestExplainSwapOff wants the kernel's lack of memory told from other errors, and none to hide
// that swap is on.
func TestExplainSwapOff(t *testing.T) {
	for _, cause := range []error{syscall.ENOMEM, syscall.EPERM} {
		err := explainSwapOff(&os.PathError{Op: "swapoff", Path: "/dev/loop3", Err: cause})
		wantWords(t, err, []string{"swapoff /dev/loop3", "swap is still on"})
		if !errors.Is(err, cause) {
			t.Errorf("%v is no %v", err, cause)
		}
		if explained := strings.Contains(err.Error(), "raise the memory limit"); explained != (cause == syscall.ENOMEM) {
			t.Errorf("%v explains a lack of room: %t", cause, explained)
		}
	}
}
