// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/procpages"
)

// machine is a machine with 1G of memory, 200M of it available.
func machine(t *testing.T, files map[string]string) host.Root {
	t.Helper()
	dir := t.TempDir()
	files["proc/meminfo"] = "MemTotal:        1048576 kB\nMemAvailable:     204800 kB\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return host.Root(dir)
}

// grouped is such a machine with a group /cg/a that has room for 30M.
func grouped(t *testing.T) bounds {
	t.Helper()
	b := bounds{machine: machine(t, map[string]string{
		"proc/self/mountinfo":   "41 31 0:38 / /cg rw - cgroup2 cgroup2 rw\n",
		"cg/cgroup.controllers": "memory\n",
		"cg/a/memory.max":       "33554432\n",
		"cg/a/memory.stat":      "active_anon 1048576\ninactive_anon 0\nunevictable 0\n",
	})}
	var err error
	if b.groups, err = b.machine.MemoryHierarchy(); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRoomIsTheLeastOfAllBounds(t *testing.T) {
	b := grouped(t)
	if room, due, err := b.room("/cg", nil); err != nil || room != 136<<20 || due != Memory {
		t.Errorf("without a limit: %d for %s, %v; want 200M less the margin of 64M", room, due, err)
	}
	if room, due, err := b.room("/cg/a", nil); err != nil || room != 30<<20 || due != Group {
		t.Errorf("below a limit: %d for %s, %v; want 30M", room, due, err)
	}
	b = bounds{machine: machine(t, map[string]string{})}
	if room, due, err := b.room("", nil); err != nil || room != 136<<20 || due != Memory {
		t.Errorf("without groups: %d for %s, %v", room, due, err)
	}
}

func TestCalm(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end() // it does not wait
	for text, want := range map[string]bool{"": true, "some avg10=20.00 avg60=1": true, "some avg10=20.01 avg60=1": false} {
		files := map[string]string{}
		if text != "" {
			files["proc/pressure/memory"] = text
		}
		if got := (bounds{machine: machine(t, files)}).calm(ctx); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// planned does a dry run with processes of these sizes in MiB, each of a group of its own.
func planned(t *testing.T, limit uint64, groups []string, mib ...int64) Report {
	t.Helper()
	w := &work{Options: Options{DryRun: true, Limit: limit}, process: newProcess(), bounds: grouped(t)}
	for i, n := range mib {
		w.targets = append(w.targets, newTarget(os.Getpid(), groups[i], []procpages.Run{{First: 0, Pages: n << 20 / page}}))
	}
	if err := w.bring(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.process.close(); err != nil {
		t.Error(err)
	}
	return w.report
}

// Asking ends at the least bound, and the report says which.
func TestBoundsOfARun(t *testing.T) {
	const mib = 1 << 20 / page
	for _, c := range []struct {
		name   string
		limit  uint64
		groups []string
		mib    []int64
		asked  uint64
		left   []Count
	}{
		{"all", 0, []string{"/cg", "/cg"}, []int64{100, 10}, 110 * mib, nil},
		{"memory", 0, []string{"/cg", "/cg", "/cg"}, []int64{100, 50, 10}, 136 * mib, []Count{{Memory, 24 * mib}}},
		{"limit", 70 << 20, []string{"/cg", "/cg"}, []int64{65, 50}, 70 * mib, []Count{{Limit, 45 * mib}}},
		{"another group", 0, []string{"/cg", "/cg/a"}, []int64{100, 25}, 125 * mib, nil},
		{"groups below one", 0, []string{"/cg/a/b", "/cg/a"}, []int64{20, 15}, 30 * mib, []Count{{Group, 5 * mib}}},
		{"group", 0, []string{"/cg/a", "/cg"}, []int64{40, 20}, 50 * mib, []Count{{Group, 10 * mib}}},
	} {
		r := planned(t, c.limit, c.groups, c.mib...)
		if r.Asked != c.asked || !slices.Equal(r.Left, c.left) {
			t.Errorf("%s: %d MiB asked for, %v left; want %d, %v", c.name, r.Asked/mib, r.Left, c.asked/mib, c.left)
		}
	}
}

// An end of the context before or in a run leaves the rest in swap, and the report says so.
func TestInterruptedRun(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	w := &work{Options: Options{DryRun: true}, process: newProcess(), bounds: grouped(t)}
	w.targets = []*target{newTarget(os.Getpid(), "/cg", []procpages.Run{{First: 0, Pages: 5}}), newTarget(1, "/cg", []procpages.Run{{First: 0, Pages: 2}})}
	if err := w.bring(ctx); err != nil || w.report.Asked != 0 || !slices.Equal(w.report.Left, []Count{{Interrupted, 7}}) || !w.report.Incomplete() {
		t.Errorf("%+v, %v", w.report, err)
	}
	if err := w.process.close(); err != nil {
		t.Error(err)
	}
	if r, err := Run(ctx, Options{PIDs: []int{os.Getpid()}, DryRun: true}); err != nil || r.Found != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A recount that takes long ends soon after the context, and leaves the rest uncounted: these are
// the entries of 32 TB of addresses.
func TestInterruptedRecount(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	const pages = 1 << 33
	w := &work{process: newProcess(), targets: []*target{newTarget(os.Getpid(), "", []procpages.Run{{First: 0, Pages: pages}})}}
	w.targets[0].take(nil, pages)
	w.report.Asked = pages
	if err := w.recount(ctx); err != nil || w.report.Back != 0 || !slices.Equal(w.report.Left, []Count{{Uncounted, pages}}) || !w.report.Incomplete() {
		t.Errorf("%+v, %v", w.report, err)
	}
}

// Where nothing that may be looked at is in swap, a refusal is an error: something may be.
func TestNothingFoundForWantOfPermission(t *testing.T) {
	w := &work{report: Report{Skipped: []Count{{Ended, 1}, {Refused, 1}}}}
	if err := w.find(t.Context()); !errors.Is(err, ErrPermission) {
		t.Errorf("%v, want %v", err, ErrPermission)
	}
	w.report.Skipped = []Count{{Ended, 2}}
	if err := w.find(t.Context()); err != nil {
		t.Error(err)
	}
	if !(Report{Found: 1, Skipped: []Count{{Refused, 1}}}).Incomplete() {
		t.Error("complete without a process that was refused")
	}
}
