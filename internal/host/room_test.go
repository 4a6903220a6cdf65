// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
)

const roomStat = "total_active_anon 1048576\ntotal_inactive_anon 1048576\ntotal_unevictable 0\nhierarchical_memory_limit 9223372036854771712\n" +
	"active_anon 1048576\ninactive_anon 1048576\nunevictable 0\n"

// TestRoom wants the tightest limit from a process's group up to the top, in both hierarchies.
func TestRoom(t *testing.T) {
	v1 := map[string]string{
		"proc/self/mountinfo":          "41 31 0:38 / /cg rw - cgroup cgroup rw,memory\n",
		"proc/7/cgroup":                "4:memory:/a/b\n0::/elsewhere\n",
		"cg/memory.limit_in_bytes":     "9223372036854771712\n",
		"cg/memory.stat":               roomStat,
		"cg/a/memory.limit_in_bytes":   "33554432\n", // 32M: leaves 32-1-2
		"cg/a/memory.stat":             roomStat,
		"cg/a/b/memory.limit_in_bytes": "67108864\n",
		"cg/a/b/memory.stat":           roomStat,
	}
	v2 := map[string]string{
		"proc/self/mountinfo":   "41 31 0:38 / /cg rw - cgroup2 cgroup2 rw\n",
		"proc/7/cgroup":         "0::/a/b\n",
		"cg/cgroup.controllers": "memory\n",
		"cg/a/memory.max":       "max\n",
		"cg/a/memory.high":      "33554432\n",
		"cg/a/memory.stat":      roomStat,
		"cg/a/b/memory.max":     "67108864\n",
		"cg/a/b/memory.stat":    roomStat,
	}
	for name, files := range map[string]map[string]string{"v1": v1, "v2": v2} {
		h, err := tree(t, files).MemoryHierarchy()
		if err != nil {
			t.Fatal(err)
		}
		dir, err := h.GroupOf(7)
		if err != nil || dir != "/cg/a/b" {
			t.Errorf("%s: the group is %q, %v", name, dir, err)
		}
		if room, limits, err := h.Room(dir, nil); err != nil || room != 29<<20 || limits != "/cg/a" {
			t.Errorf("%s: room %d below %q, %v; want 29M below /cg/a", name, room, limits, err)
		}
		if room, limits, err := h.Room("/cg", nil); err != nil || room != NoMemoryLimit || limits != "" {
			t.Errorf("%s: the top has room %d below %q, %v", name, room, limits, err)
		}
		if _, err := h.GroupOf(8); err == nil {
			t.Errorf("%s: a process that is none has a group", name)
		}
	}
}

func TestPressure(t *testing.T) {
	for text, want := range map[string]float64{"some avg10=12.50 avg60=2.16 avg300=3.34 total=35600545\nfull avg10=0.00\n": 12.5, "some avg10=0.00 x": 0} {
		if got, known := tree(t, map[string]string{"proc/pressure/memory": text}).Pressure(); !known || got != want {
			t.Errorf("%q: %v, %v", text, got, known)
		}
	}
	for _, files := range []map[string]string{{"proc/version": ""}, {"proc/pressure/memory": "banana"}} {
		if got, known := tree(t, files).Pressure(); known {
			t.Errorf("%q: %v", files, got)
		}
	}
}

// TestProcessesBelow wants the processes of all groups below one, and to be told what is no group.
func TestProcessesBelow(t *testing.T) {
	r := tree(t, map[string]string{
		"cg/cgroup.procs":     "1\n",
		"cg/a/cgroup.procs":   "0\n10\n11\n",
		"cg/a/b/cgroup.procs": "12\n",
		"cg/a/gone/other":     "",
		"cg/z/cgroup.procs":   "13\n",
	})
	got, err := r.ProcessesBelow(t.Context(), "cg/a")
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []int{10, 11, 12}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := r.ProcessesBelow(t.Context(), "cg/a/gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is no group has %v, %v", got, err)
	}
}
