// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/procpages"
	"github.com/zramfs/zramfs/internal/require"
)

// grouped is a machine with 1G of memory, 200M of it available, and a group /cg/a that has room for
// 30M.
func grouped(t *testing.T) *work {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"proc/meminfo":          "MemTotal:        1048576 kB\nMemAvailable:     204800 kB\n",
		"proc/self/mountinfo":   "41 31 0:38 / /cg rw - cgroup2 cgroup2 rw\n",
		"cg/cgroup.controllers": "memory\n",
		"cg/a/memory.max":       "33554432\n",
		"cg/a/memory.stat":      "active_anon 1048576\ninactive_anon 0\nunevictable 0\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := &work{machine: host.Root(dir), process: newProcess()}
	var err error
	if w.groups, err = w.machine.MemoryHierarchy(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.process.close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func TestRoomIsTheLeastOfAllBounds(t *testing.T) {
	w := grouped(t)
	if machine, group, err := w.room("/cg"); err != nil || machine != 136<<20 || group < machine {
		t.Errorf("without a limit: %d, %d, %v; want 200M less the margin of 64M", machine, group, err)
	}
	if machine, group, err := w.room("/cg/a"); err != nil || machine != 136<<20 || group != 30<<20 {
		t.Errorf("below a limit: %d, %d, %v; want 30M", machine, group, err)
	}
}

// Asking ends where a control group has no room, and goes on with the next process; where the
// machine has none it ends.
func TestFetchEndsAtBounds(t *testing.T) {
	require.Root(t)
	w := grouped(t)
	runs := []procpages.Run{{First: 1 << 46, Pages: 3}} // not mapped: the kernel leaves them out
	for _, c := range []struct {
		group, limit, available string
		asked                   uint64
		more                    bool
	}{
		{"/cg", "33554432", "204800", 3, true}, {"/cg/a", "33554432", "204800", 3, true},
		{"/cg/a", "1048576", "204800", 0, true}, {"/cg", "33554432", "65536", 0, false},
	} {
		for name, text := range map[string]string{"cg/a/memory.max": c.limit + "\n",
			"proc/meminfo": "MemTotal:        1048576 kB\nMemAvailable:     " + c.available + " kB\n"} {
			if err := os.WriteFile(w.machine.Path(name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		target := newTarget(os.Getpid(), c.group, runs)
		if more, err := w.fetch(t.Context(), target); err != nil || more != c.more || target.asked != c.asked {
			t.Errorf("%+v: %d pages asked for, more is %t, %v", c, target.asked, more, err)
		}
	}
}

// A context that has ended leaves all in swap, and so does a process that serves swap.
func TestRun(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	if r, err := Run(ctx); err != nil || r.Asked != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	w := grouped(t)
	w.machine = host.Local
	self, ok := host.Local.Process(os.Getppid())
	if !ok {
		t.Fatal("no parent process")
	}
	if err := w.find(t.Context(), []int{os.Getpid(), os.Getppid(), 1 << 22}, []string{self.Name}); err != nil || len(w.targets) > 0 {
		t.Errorf("%d targets, %v", len(w.targets), err)
	}
}
