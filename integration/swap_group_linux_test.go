// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// groupPatience is how long a control group may stay busy after its last process
// has ended.
const groupPatience = 5 * time.Second

// hierarchy is where control groups for memory are made.
type hierarchy struct {
	top string
	v1  bool
}

// memoryHierarchy finds the hierarchy that has the memory controller: that of
// cgroup v1, or the one of v2.
func memoryHierarchy() (hierarchy, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return hierarchy{}, err
	}
	for _, m := range mounts {
		if m.FSType == "cgroup" && hasController(m.VFSOptions, ",") {
			return hierarchy{top: m.Mountpoint, v1: true}, nil
		}
	}
	for _, m := range mounts {
		controllers, err := os.ReadFile(filepath.Join(m.Mountpoint, "cgroup.controllers"))
		if err == nil && hasController(string(bytes.TrimSpace(controllers)), " ") {
			return hierarchy{top: m.Mountpoint}, nil
		}
	}
	return hierarchy{}, errors.New("no mounted control groups have the memory controller")
}

func hasController(list, separator string) bool {
	return slices.Contains(strings.Split(list, separator), "memory")
}

// memoryGroup makes a control group that limits its processes to limit bytes of memory and swaps
// eagerly, and returns its directory. The processes in it must have ended when the test ends.
func memoryGroup(t testing.TB, name string, limit uint64) (dir string) {
	t.Helper()
	h, err := memoryHierarchy()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(h.top, "zramfs-test-"+name)
	if !h.v1 {
		delegateMemory(t, h.top)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeGroup(t, dir) })
	if h.v1 { // v2 has no swappiness of a group
		set(t, filepath.Join(dir, "memory.swappiness"), "100")
	}
	set(t, limitFile(h, dir), strconv.FormatUint(limit, 10))
	return dir
}

// liftLimit takes the limit off a group that memoryGroup made.
func liftLimit(t testing.TB, dir string) {
	t.Helper()
	h, err := memoryHierarchy()
	if err != nil {
		t.Fatal(err)
	}
	unlimited := "max"
	if h.v1 {
		unlimited = "-1"
	}
	set(t, limitFile(h, dir), unlimited)
}

func limitFile(h hierarchy, dir string) string {
	if h.v1 {
		return filepath.Join(dir, "memory.limit_in_bytes")
	}
	return filepath.Join(dir, "memory.max")
}

// groupKills returns how many of the group's processes the kernel has killed for
// its limit.
func groupKills(t testing.TB, dir string) (n int) {
	t.Helper()
	h, err := memoryHierarchy()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "memory.events")
	if h.v1 {
		file = filepath.Join(dir, "memory.oom_control")
	}
	text, err := os.ReadFile(file)
	_, after, _ := strings.Cut(string(text), "\noom_kill ")
	if _, failed := fmt.Sscan(after, &n); err != nil || failed != nil {
		t.Fatalf("%s has no count of kills: %v", file, errors.Join(err, failed))
	}
	return n
}

func set(t testing.TB, file, value string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

// delegateMemory lets the groups below top of cgroup v2 have the memory
// controller, until the test ends.
func delegateMemory(t testing.TB, top string) {
	t.Helper()
	control := filepath.Join(top, "cgroup.subtree_control")
	now, err := os.ReadFile(control)
	if err != nil {
		t.Fatal(err)
	}
	if hasController(string(bytes.TrimSpace(now)), " ") {
		return
	}
	if err := os.WriteFile(control, []byte("+memory"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(control, []byte("-memory"), 0); err != nil {
			t.Error(err)
		}
	})
}

func removeGroup(t testing.TB, dir string) {
	t.Helper()
	for end := time.Now().Add(groupPatience); ; time.Sleep(20 * time.Millisecond) {
		err := os.Remove(dir)
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			t.Error(err)
			return
		}
	}
}

// joinGroup moves the calling process into a control group.
func joinGroup(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
		return fmt.Errorf("join control group: %w", err)
	}
	return nil
}
