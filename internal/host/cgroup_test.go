// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"reflect"
	"testing"
)

// testdata/cgroup/CASE is the Root of a machine.
func TestGroupLimits(t *testing.T) {
	const (
		ram = 8 << 30
		v1  = "/sys/fs/cgroup/memory"
		v2  = "/sys/fs/cgroup"
	)
	for _, c := range []struct {
		name string
		ram  uint64
		want []GroupLimit
	}{
		{"v1-unlimited", ram, nil},
		{"v1-limited-above", ram, []GroupLimit{{Kind: LimitMemory, File: v1 + "/user/memory.limit_in_bytes", Top: v1, Value: 512 << 20, V1: true}}},
		{"v1-limit-beyond-ram", ram, nil},
		{"v1-container", ram, []GroupLimit{{Kind: LimitMemory, File: v1 + "/memory.limit_in_bytes", Top: v1, Value: 1 << 30, V1: true}}},
		{"v1-outside", ram, []GroupLimit{{Kind: LimitMemory, File: v1 + "/memory.limit_in_bytes", Top: v1, Value: 1 << 30, V1: true}}},
		{"v2-unlimited", ram, nil},
		{"v2-high", ram, []GroupLimit{{Kind: LimitMemory, File: v2 + "/user.slice/memory.high", Top: v2, Value: 256 << 20, V1: false}}},
		{"no-cgroups", ram, nil},
		{"v1-unlimited", 0, nil},
	} {
		got, err := Root("testdata/cgroup/"+c.name).GroupLimits(c.ram, 0)
		for i := range c.want {
			c.want[i].Text = fmt.Sprint(c.want[i].Value)
		}
		if err != nil || len(got) != len(c.want) || len(got) > 0 && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	for _, name := range []string{"garbled", "garbled-limit"} {
		if got, err := Root("testdata/cgroup/"+name).GroupLimits(ram, 0); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, err := Root("testdata/cgroup/v1-limit-beyond-ram").GroupLimits(0, 0); err != nil || len(got) == 0 {
		t.Errorf("with unknown memory: %+v, %v", got, err)
	}
}

// The file of the group that was frozen is found, and not those of the groups below it.
func TestFrozenBy(t *testing.T) {
	const mounts = "37 31 0:34 / /c/freezer rw - cgroup cgroup rw,freezer\n41 31 0:38 / /c/unified rw - cgroup2 cgroup2 rw\n"
	for _, c := range []struct{ group, frozen, file, thaw string }{
		{"6:freezer:/a/b", "c/freezer/a/b/freezer.self_freezing", "/c/freezer/a/b/freezer.state", "THAWED"},
		{"6:freezer:/a/b", "c/freezer/a/freezer.self_freezing", "/c/freezer/a/freezer.state", "THAWED"},
		{"0::/a/b", "c/unified/a/cgroup.freeze", "/c/unified/a/cgroup.freeze", "0"},
		{"0::/a/b", "c/unified/other/cgroup.freeze", "", ""},
		{"5:pids:/a/b", "c/freezer/a/freezer.self_freezing", "", ""},
	} {
		files := map[string]string{"proc/7/cgroup": c.group + "\n", "proc/self/mountinfo": mounts, "c/freezer/a/b/freezer.self_freezing": "0\n",
			"c/unified/a/b/cgroup.freeze": "0\n"}
		files[c.frozen] = "1\n"
		if file, thaw := tree(t, files).FrozenBy(7); file != c.file || thaw != c.thaw {
			t.Errorf("%s with %s: %q, %q", c.group, c.frozen, file, thaw)
		}
	}
}
