// SPDX-License-Identifier: Apache-2.0

package limitedswap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/podswap"
)

// TestAgentOnKernelGroups sets limits of real groups of cgroup v2, which round down to pages.
func TestAgentOnKernelGroups(t *testing.T) {
	const m = host.Local
	h, err := m.MemoryHierarchy()
	if err != nil || !h.V2 || os.Geteuid() != 0 {
		t.Skipf("needs root, and cgroup v2 with the memory controller (%v): boot with systemd.unified_cgroup_hierarchy=1", err)
	}
	top := m.Path(h.Top, "zramfs-test-limitedswap.slice")
	app, other := filepath.Join(top, group(pod1, "a")), filepath.Join(top, group(pod1, "b"))
	for _, dir := range []string{app, other} {
		makeGroups(t, m.Path(h.Top), dir)
		if err := os.WriteFile(filepath.Join(dir, podswap.SwapMax), []byte("0"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	groups, err := podswap.Groups(m)
	if err != nil {
		t.Fatal(err)
	}
	g := groups[strings.Repeat("a", 64)]
	if m.Path(g.Dir) != app || g.QOSClass != podswap.Burstable {
		t.Fatalf("the group is %+v, want that at %s", g, app)
	}
	const limit = 53_687_091
	lines := 0
	a := &Agent{Machine: m, Restore: true, Log: func(string) { lines++ }, changes: map[string]change{}}
	for range 2 { // the second time it is right
		if err := a.set(g, "app", limit); err != nil {
			t.Fatal(err)
		}
	}
	if now := read(t, app); !podswap.SameLimit(now, limit) || lines != 1 {
		t.Errorf("%d after %d changes, want %d after one", now, lines, limit)
	}
	if err := a.restore(); err != nil || read(t, app) != 0 || read(t, other) != 0 {
		t.Errorf("restored %d, %v", read(t, app), err)
	}
}

func read(t *testing.T, dir string) uint64 {
	t.Helper()
	limit, there, err := podswap.Group{Dir: dir}.Limit(host.Local)
	if err != nil || !there {
		t.Fatal(there, err)
	}
	return limit
}

// makeGroups makes dir and the groups between top and it, with the memory controller, and removes
// them after the test.
func makeGroups(t *testing.T, top, dir string) {
	t.Helper()
	if dir == top {
		return
	}
	makeGroups(t, top, filepath.Dir(dir))
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), []byte("+memory"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err == nil {
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
	} else if !os.IsExist(err) {
		t.Fatal(err)
	}
}
