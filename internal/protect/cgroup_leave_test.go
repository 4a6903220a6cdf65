// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

const (
	groupRAM   = 8 << 30
	groupTasks = 80
	v1Top      = "sys/fs/cgroup/memory/cgroup.procs"
	v2Top      = "sys/fs/cgroup/cgroup.procs"
)

// machineTree is a copy of one of groups with more files in it, path to text. A text that
// begins with -> is where a symbolic link leads.
func machineTree(t *testing.T, name string, more map[string]string) host.Root {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(groups.Path(name))); err != nil {
		t.Fatal(err)
	}
	for path, text := range more {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "->"); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return host.Root(root)
}

func content(t *testing.T, root host.Root, path string) string {
	t.Helper()
	text, err := os.ReadFile(root.Path(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A process moves to the highest group if its own or one above it is limited, and foreseeGroup says
// so.
func TestLeaveLimitedGroup(t *testing.T) {
	for _, c := range []struct {
		name, top    string
		left, stayed string
		foreseen     status.State
	}{
		{"v1-limited-above", v1Top, "/sys/fs/cgroup/memory/user/memory.limit_in_bytes", "", status.OK},
		{"hybrid", v1Top, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "", status.OK},
		{"v2-high", v2Top, "/sys/fs/cgroup/user.slice/memory.high", "", status.OK},
		{"v1-container", v1Top, "", "highest group", status.Fail},
		{"v1-outside", v1Top, "", "highest group", status.Fail},
		{"v1-unlimited", v1Top, "", "", status.OK},
		{"v1-limit-beyond-ram", v1Top, "", "", status.OK},
		{"v2-unlimited", v2Top, "", "", status.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := machineTree(t, c.name, map[string]string{c.top: "", "sys/fs/cgroup/unified/cgroup.procs": "",
				"proc/self/exe": "->/sbin/zramfs", "sys/fs/cgroup/system.slice/zramfs.service/cgroup.procs": ""})
			if p := foreseeGroup(root, groupRAM, groupTasks); p.State != c.foreseen || !strings.Contains(p.Detail, c.stayed) ||
				strings.Contains(p.Detail, "will leave") != (c.left != "") {
				t.Errorf("foreseen: %+v", p)
			}
			if moved := content(t, root, c.top); moved != "" {
				t.Fatalf("foreseeing wrote %q", moved)
			}
			m := SettleCgroup(root, groupRAM, groupTasks)
			if m.Left != c.left || !strings.Contains(m.Stayed, c.stayed) || c.stayed == "" && m.Stayed != "" {
				t.Errorf("%+v", m)
			}
			want := ""
			if c.left != "" {
				want = "0"
			}
			if moved := content(t, root, c.top); moved != want {
				t.Errorf("wrote %q to /%s, want %q", moved, c.top, want)
			}
		})
	}
}

// Where the move is not allowed, the protection says why.
func TestStayInLimitedGroup(t *testing.T) {
	root := machineTree(t, "v1-limited-above", nil) // without a list of processes to write to
	m := SettleCgroup(root, groupRAM, groupTasks)
	if m.Left != "" || m.Stayed == "" {
		t.Fatalf("%+v", m)
	}
	for name, p := range map[string]status.Protection{"found": Settled(CheckCgroup(root, groupRAM, groupTasks), m), "foreseen": foreseeGroup(root, groupRAM, groupTasks)} {
		if p.State != status.Fail || !strings.Contains(p.Detail, "could not be left") || !strings.Contains(p.Detail, "no such file") {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A group of cgroup v2 is excluded from swap and reclaim if this program is alone in it.
func TestProtectOwnGroup(t *testing.T) {
	const group = "sys/fs/cgroup/system.slice/zramfs.service/"
	for _, c := range []struct {
		name  string
		more  map[string]string
		owned bool
	}{
		{"alone", nil, true},
		{"with another", map[string]string{group + "cgroup.procs": "17\n18\n19\n", "proc/19/exe": "->/bin/sh"}, false},
		{"with one out of sight", map[string]string{group + "cgroup.procs": "17\n0\n"}, false},
		{"with one that has ended", map[string]string{group + "cgroup.procs": "17\n20\n"}, false},
		{"with groups below", map[string]string{group + "sub/cgroup.procs": ""}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			more := map[string]string{
				group + "cgroup.procs": "17\n18\n", "proc/17/exe": "->/sbin/zramfs", "proc/18/exe": "->/sbin/zramfs",
				"proc/self/exe": "->/sbin/zramfs", group + "memory.swap.max": "max\n", group + "memory.min": "0\n",
			}
			maps.Copy(more, c.more)
			root := machineTree(t, "v2-unlimited", more)
			m := SettleCgroup(root, groupRAM, groupTasks)
			swap, low := content(t, root, group+"memory.swap.max"), content(t, root, group+"memory.min")
			if owned := m.Own == "/"+strings.TrimSuffix(group, "/"); owned != c.owned || strings.HasPrefix(swap, "0") != c.owned ||
				strings.HasPrefix(low, "max") != c.owned {
				t.Errorf("%+v, memory.swap.max %q, memory.min %q", m, swap, low)
			}
		})
	}
}

// Without the memory controller SettleCgroup makes no control files.
func TestProtectOwnGroupWithoutController(t *testing.T) {
	const group = "sys/fs/cgroup/system.slice/zramfs.service/"
	root := machineTree(t, "v2-unlimited", map[string]string{
		group + "cgroup.procs": "17\n", "proc/17/exe": "->/sbin/zramfs", "proc/self/exe": "->/sbin/zramfs",
	})
	if m := SettleCgroup(root, groupRAM, groupTasks); m.Own != "" {
		t.Errorf("%+v", m)
	}
	if _, err := os.Stat(root.Path(group, "memory.swap.max")); err == nil {
		t.Error("memory.swap.max was made")
	}
}

// A process leaves the groups that could stop it or give it too little: where they are shared, or
// limited. Where it may not, it reports the limits.
func TestLeaveGroupsOfOtherControllers(t *testing.T) {
	const v1 = "3:cpu,cpuacct:/a\n4:freezer:/a\n5:pids:/a\n6:devices:/a\n"
	mounts := ""
	for _, name := range []string{"cpu,cpuacct", "freezer", "pids", "devices"} {
		mounts += "32 31 0:29 / /c/" + name + " rw - cgroup cgroup rw," + name + "\n"
	}
	const mount2 = "41 31 0:38 / /c rw - cgroup2 cgroup2 rw\n"
	alone := map[string]string{"c/a/cgroup.procs": "17\n", "proc/17/exe": "->/sbin/zramfs", "proc/self/exe": "->/sbin/zramfs"}
	for _, c := range []struct {
		name    string
		cgroup  string
		mounts  string
		files   map[string]string
		tops    []string // of the hierarchies that are left
		stays   string   // in the detail where there are no lists of processes to write to
		failing status.State
	}{
		{"v1", v1, mounts, nil, []string{"c/cpu,cpuacct", "c/freezer", "c/pids"}, "no limit", status.OK},
		{"v1 quota", v1, mounts, map[string]string{"c/cpu,cpuacct/a/cpu.cfs_quota_us": "20000\n"}, []string{"c/cpu,cpuacct", "c/freezer", "c/pids"},
			"/c/cpu,cpuacct/a/cpu.cfs_quota_us is 20000: ", status.Warn},
		{"v1 tasks", v1, mounts, map[string]string{"c/pids/a/pids.max": "90\n", "c/pids/a/pids.current": "11\n"},
			[]string{"c/cpu,cpuacct", "c/freezer", "c/pids"}, "room for 79 more threads, and zramfs needs 80", status.Fail},
		{"v1 room", v1, mounts, map[string]string{"c/pids/a/pids.max": "90\n", "c/pids/a/pids.current": "10\n", "c/cpu,cpuacct/a/cpu.cfs_quota_us": "-1\n"},
			[]string{"c/cpu,cpuacct", "c/freezer", "c/pids"}, "no limit", status.OK},
		{"v2 shared", "0::/a\n", mount2, map[string]string{"c/a/cgroup.procs": "17\n18\n", "proc/18/exe": "->/bin/sh"}, []string{"c"}, "no limit", status.OK},
		{"v2 alone", "0::/a\n", mount2, nil, nil, "no limit", status.OK},
		{"v2 quota", "0::/a\n", mount2, map[string]string{"c/a/cpu.max": "20000 100000\n"}, []string{"c"}, "/c/a/cpu.max is 20000 100000: ", status.Warn},
		{"v2 no quota", "0::/a\n", mount2, map[string]string{"c/a/cpu.max": "max 100000\n"}, nil, "no limit", status.OK},
		{"v2 tasks and quota above", "0::/a/b\n", mount2, map[string]string{"c/a/b/pids.max": "9\n", "c/a/b/pids.current": "10\n", "c/a/cpu.max": "1 2\n"},
			[]string{"c"}, "/c/a/cpu.max is 1 2: ", status.Fail},
		{"v2 top", "0::/\n", mount2, map[string]string{"c/cpu.max": "20000 100000\n"}, nil, "highest group in sight", status.Warn},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"proc/self/cgroup": c.cgroup, "proc/self/mountinfo": c.mounts}
			for _, more := range []map[string]string{alone, c.files} {
				maps.Copy(files, more)
			}
			root := machineTree(t, "no-cgroups", files)
			m := SettleCgroup(root, groupRAM, groupTasks)
			for _, p := range []status.Protection{Settled(CheckCgroup(root, groupRAM, groupTasks), m), foreseeGroup(root, groupRAM, groupTasks)} {
				if p.State != c.failing || !strings.Contains(p.Detail, c.stays) {
					t.Errorf("where it stays: %+v", p)
				}
			}
			lists := []string{"c/cgroup.procs"}
			for _, name := range []string{"cpu,cpuacct", "freezer", "pids", "devices"} {
				lists = append(lists, "c/"+name+"/cgroup.procs")
			}
			for _, list := range lists {
				files[list] = ""
			}
			root = machineTree(t, "no-cgroups", files)
			SettleCgroup(root, groupRAM, groupTasks)
			for _, list := range lists {
				if left := content(t, root, list) == "0"; left != slices.Contains(c.tops, filepath.Dir(list)) {
					t.Errorf("left for %s: %v", list, left)
				}
			}
		})
	}
}
