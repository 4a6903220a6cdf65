// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/tune"
	"github.com/zramfs/zramfs/internal/uprecord"
)

// sysctls are the parameters of the machines in these tests.
var sysctls = []string{"vm.page-cluster", "vm.swappiness", "vm.watermark_scale_factor", "vm.watermark_boost_factor"}

// cluster is what the first of them is set to.
var cluster = strconv.Itoa(tune.PageCluster)

// setSysctls gives them these values, in the order of sysctls; an empty one is missing.
func setSysctls(t *testing.T, m host.Root, values ...string) {
	t.Helper()
	for i, v := range values {
		path := m.Path(sysctlPath(sysctls[i]))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.RemoveAll(path)); err != nil {
			t.Fatal(err)
		}
		if v == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(v+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tuned makes up's change on a machine that begins with these values, and returns what was said: up
// forgets ended devices first.
func tuned(t *testing.T, m host.Root, dir string, values ...string) string {
	t.Helper()
	setSysctls(t, m, values...)
	var out strings.Builder
	if err := Forget(&out, m, Device{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	rec := runningRecord(t, dir)
	if err := applyTune(&out, m, tune.Settings(m), &rec); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// sysctlPath is the file of a kernel parameter, relative to the root.
func sysctlPath(name string) string { return "proc/sys/" + strings.ReplaceAll(name, ".", "/") }

// runningRecord is the record of a device that is up: this process passes for the keeper.
func runningRecord(t *testing.T, dir string) uprecord.Record {
	t.Helper()
	p, ok := host.Local.Process(os.Getpid())
	if !ok {
		t.Fatal("this process is not there")
	}
	return uprecord.Record{Dir: dir, Keeper: p.PID, Started: p.Start}
}

// recordsOf returns the records of devices on dir.
func recordsOf(m host.Root, dir string) []uprecord.Record {
	return slices.DeleteFunc(uprecord.Read(m), func(r uprecord.Record) bool { return !r.Of(dir) })
}

// dies makes the only record of dir one of a device that has died.
func dies(t *testing.T, m host.Root, dir string) {
	t.Helper()
	for _, rec := range recordsOf(m, dir) {
		rec.Started++
		if err := rec.Write(m); err != nil {
			t.Fatal(err)
		}
	}
}

// wantSysctls compares the values of the machine.
func wantSysctls(t *testing.T, m host.Root, want ...string) {
	t.Helper()
	for i, w := range want {
		if got, err := m.Sysctl(sysctls[i]); err != nil || got != w {
			t.Errorf("%s is %s, %v; want %s", sysctls[i], got, err, w)
		}
	}
}

// forgotten is what down says when it restores.
func forgotten(t *testing.T, m host.Root, dir string) string {
	t.Helper()
	var out strings.Builder
	for _, rec := range recordsOf(m, dir) {
		if err := Forget(&out, m, Device{Dir: dir, Record: &rec}); err != nil {
			t.Fatal(err)
		}
	}
	if left := recordsOf(m, dir); len(left) > 0 {
		t.Errorf("records are left: %+v", left)
	}
	return out.String()
}

func TestTuneIsSetAndRestored(t *testing.T) {
	m := host.Root(t.TempDir())
	said := tuned(t, m, "/run/zram", "3", "60", "10", "15000")
	wantSysctls(t, m, cluster, "133", "125", "0")
	if !strings.Contains(said, "tune          ok    vm.page-cluster="+cluster+" (was 3), vm.swappiness=133 (was 60)") || strings.Count(said, "\n") != 1 {
		t.Errorf("up says %q", said)
	}
	said = forgotten(t, m, "/run/zram")
	wantSysctls(t, m, "3", "60", "10", "15000")
	if !strings.Contains(said, "tune          ok    restored vm.page-cluster=3, vm.swappiness=60") || strings.Count(said, "\n") != 1 {
		t.Errorf("down says %q", said)
	}
	if _, err := os.Stat(m.Path(uprecord.Dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of records is left: %v", err)
	}
}

// TestTuneOfOthers wants values that another program has set since left alone, and a larger
// value from before kept.
func TestTuneOfOthers(t *testing.T) {
	m := host.Root(t.TempDir())
	tuned(t, m, "/run/zram", "3", "180", "10", "15000")
	wantSysctls(t, m, cluster, "180", "125", "0")
	if err := m.WriteSysctl("vm.page-cluster", "7"); err != nil {
		t.Fatal(err)
	}
	said := forgotten(t, m, "/run/zram")
	wantSysctls(t, m, "7", "180", "10", "15000")
	if !strings.Contains(said, "warn  vm.page-cluster is 7 by now, not the "+cluster+" that up set") || strings.Contains(said, "swappiness") {
		t.Errorf("down says %q", said)
	}
}

// TestTuneRefused has one parameter that this kernel lacks and one that cannot be written: up
// goes on.
func TestTuneRefused(t *testing.T) {
	m := host.Root(t.TempDir())
	path := m.Path(sysctlPath("vm.swappiness"))
	if err := os.MkdirAll(path, 0o755); err != nil { // a directory can be neither read nor written, by root either
		t.Fatal(err)
	}
	for name, v := range map[string]string{"page-cluster": "3", "watermark_scale_factor": "10"} {
		if err := os.WriteFile(m.Path(sysctlPath("vm."+name)), []byte(v), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	said := tuned(t, m, "/run/zram")
	for _, want := range []string{"ok    vm.page-cluster=" + cluster + " (was 3), vm.watermark_scale_factor=125 (was 10)\n",
		"warn  vm.swappiness: ", "warn  vm.watermark_boost_factor: "} {
		if !strings.Contains(said, want) {
			t.Errorf("up says %q, not %q", said, want)
		}
	}
	if said := forgotten(t, m, "/run/zram"); strings.Contains(said, "warn") {
		t.Errorf("down says %q", said)
	}
}

// TestTuneNeedsTheRecord wants nothing changed that could not be restored.
func TestTuneNeedsTheRecord(t *testing.T) {
	m := host.Root(t.TempDir())
	if err := os.WriteFile(m.Path("run"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	said := tuned(t, m, "/run/zram", "3", "60", "10", "15000")
	wantSysctls(t, m, "3", "60", "10", "15000")
	if !strings.Contains(said, "warn  left as they are, since the old values cannot be kept") {
		t.Errorf("up says %q", said)
	}
}

// TestTuneAfterDeath turns swap on twice without a down between, as after a death: what was there
// at first is restored.
func TestTuneAfterDeath(t *testing.T) {
	m := host.Root(t.TempDir())
	tuned(t, m, "/run/zram", "3", "60", "10", "15000")
	dies(t, m, "/run/zram")
	said := tuned(t, m, "/run/zram")
	if !strings.Contains(said, "ok    restored vm.page-cluster=3") || !strings.Contains(said, "ok    vm.page-cluster="+cluster+" (was 3)") {
		t.Errorf("up says %q", said)
	}
	forgotten(t, m, "/run/zram")
	wantSysctls(t, m, "3", "60", "10", "15000")
	// After a restart of the machine the record counts for nothing.
	tuned(t, m, "/run/zram", "3", "60", "10", "15000")
	dies(t, m, "/run/zram")
	tuned(t, m, "/run/zram", "2", "50", "11", "1")
	forgotten(t, m, "/run/zram")
	wantSysctls(t, m, "2", "50", "11", "1")
}

// TestTuneAfterDeathElsewhere has a device on another DIR die: the next up, which need not tune,
// restores what the dead one changed.
func TestTuneAfterDeathElsewhere(t *testing.T) {
	m := host.Root(t.TempDir())
	tuned(t, m, "/dead", "3", "60", "10", "15000")
	dies(t, m, "/dead")
	if err := Forget(io.Discard, m, Device{Dir: "/run/zram"}); err != nil {
		t.Fatal(err)
	}
	wantSysctls(t, m, "3", "60", "10", "15000")
	if left := uprecord.Read(m); len(left) != 0 {
		t.Errorf("%d records are left", len(left))
	}
}

// TestTuneOfSeveralDevices takes three down in every order: the last one restores.
func TestTuneOfSeveralDevices(t *testing.T) {
	for _, order := range []string{"abc", "acb", "bac", "bca", "cab", "cba"} {
		m := host.Root(t.TempDir())
		tuned(t, m, "/a", "3", "60", "10", "15000")
		tuned(t, m, "/b")
		tuned(t, m, "/c")
		for _, name := range order {
			wantSysctls(t, m, cluster, "133", "125", "0")
			forgotten(t, m, "/"+string(name))
		}
		wantSysctls(t, m, "3", "60", "10", "15000")
	}
}

// A gate blocks its first writer until it is opened.
type gate struct {
	met, open chan struct{}
	once      sync.Once
}

func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() {
		close(g.met)
		<-g.open
	})
	return len(p), nil
}

// TestTuneOfDevicesAtOnce takes two down at the same time and holds one where it has read both
// records: one of them restores.
func TestTuneOfDevicesAtOnce(t *testing.T) {
	m := host.Root(t.TempDir())
	tuned(t, m, "/a", "3", "60", "10", "15000")
	tuned(t, m, "/b")
	if err := m.WriteSysctl("vm.page-cluster", "7"); err != nil { // it has something to say of that
		t.Fatal(err)
	}
	a, b, out := recordsOf(m, "/a")[0], recordsOf(m, "/b")[0], &gate{met: make(chan struct{}), open: make(chan struct{})}
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- Forget(out, m, Device{Dir: "/a", Record: &a}) }()
	<-out.met
	go func() { second <- Forget(io.Discard, m, Device{Dir: "/b", Record: &b}) }()
	select {
	case err := <-second:
		second <- err
	case <-time.After(300 * time.Millisecond): // it waits for the first
	}
	close(out.open)
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
	wantSysctls(t, m, "7", "60", "10", "15000")
	if _, err := os.Stat(m.Path(uprecord.Dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of records is left: %v", err)
	}
}

// TestTuneOfTheDead wants a record that no running device has to hold nothing back.
func TestTuneOfTheDead(t *testing.T) {
	m := host.Root(t.TempDir())
	tuned(t, m, "/a", "3", "60", "10", "15000")
	tuned(t, m, "/dead")
	dies(t, m, "/dead")
	forgotten(t, m, "/a")
	wantSysctls(t, m, "3", "60", "10", "15000")
}
