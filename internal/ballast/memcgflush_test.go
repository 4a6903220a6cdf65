// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
)

// machine makes a root with these memory groups of cgroup v1, given as limit and usage in bytes.
func machine(t *testing.T, groups map[string][2]uint64) host.Root {
	t.Helper()
	root := host.Root(t.TempDir())
	write := func(text string, path ...string) {
		name := root.Path(path...)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("30 1 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "proc", "self", "mountinfo")
	write("nr_free_pages 1\npswpin 300\npswpout 4000\npgfault 5\n", "proc", "vmstat")
	for name, g := range groups {
		dir := "/sys/fs/cgroup/memory/" + name
		write(fmt.Sprintln(g[0]), dir, "memory.limit_in_bytes")
		write(fmt.Sprintln(g[1]), dir, "memory.usage_in_bytes")
		write("hierarchical_memory_limit 9223372036854771712\n", dir, "memory.stat")
	}
	return root
}

func TestFind(t *testing.T) {
	root := machine(t, map[string][2]uint64{
		".": {1 << 62, 10 << 20}, "free": {1 << 62, 5 << 20}, "free/full": {1 << 20, 1 << 20}, "empty": {1 << 20, 100}, "most": {800, 701}, "less": {800, 700},
	})
	h, err := root.MemoryHierarchy()
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{root: root, hierarchy: h}
	if err := f.find(); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, g := range f.groups {
		got[filepath.Base(filepath.Dir(g.stat.Name()))] = f.near(g)
	}
	if want := map[string]bool{"full": true, "empty": false, "most": true, "less": false}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("groups with a limit, and whether they are near it: %v, want %v", got, want)
	}
	f.forget()
	if len(f.groups) != 0 {
		t.Error("groups are not forgotten")
	}
}

func TestSwapped(t *testing.T) {
	f := &follower{root: machine(t, nil)}
	var err error
	if f.vmstat, err = os.Open(f.root.Path("proc", "vmstat")); err != nil {
		t.Fatal(err)
	}
	defer f.vmstat.Close()
	if n, err := f.swapped(); n != 4300 || err != nil {
		t.Errorf("%d pages, %v", n, err)
	}
}

// TestFollowEnds ends with the channel, on this machine and on one without memory groups.
func TestFollowEnds(t *testing.T) {
	bare := host.Root(t.TempDir())
	if err := os.MkdirAll(bare.Path("proc", "self"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bare.Path("proc", "self", "mountinfo"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, root := range []host.Root{host.Local, bare} {
		end, ended := make(chan struct{}), make(chan error)
		go func() { ended <- Follow(root, end) }()
		close(end)
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("it goes on")
		}
	}
}
