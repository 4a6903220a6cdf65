// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
)

// machine is a machine with these files, in addition to two groups of cgroup v2.
func machine(t *testing.T, files map[string]string) host.Root {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{
		"proc/self/mountinfo":               "41 31 0:38 / /cg rw - cgroup2 cgroup2 rw\n",
		"proc/vmstat":                       "pswpin 0\npswpout 1000\n",
		"proc/meminfo":                      "SwapTotal: 1048576 kB\nSwapFree: 1048576 kB\nSwapCached: 0 kB\n",
		"cg/cgroup.controllers":             "cpu memory\n",
		"cg/user.slice/memory.current":      "1073741824\n",
		"cg/user.slice/memory.reclaim":      "",
		"cg/user.slice/memory.pressure":     "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"cg/user.slice/io.pressure":         "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"cg/system.slice/memory.current":    "1073741824\n",
		"cg/system.slice/memory.reclaim":    "",
		"cg/system.slice/memory.pressure":   "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"cg/not-under-memory/cgroup.events": "populated 1\n",
	}
	maps.Copy(all, files)
	for name, text := range all {
		write(t, host.Root(root), name, text)
	}
	return host.Root(root)
}

func write(t *testing.T, m host.Root, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(m.Path(name)), 0o755), os.WriteFile(m.Path(name), []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// A group is asked once it was seen before, until its programs wait, and no other is.
func TestRounds(t *testing.T) {
	m := machine(t, nil)
	var told []Round
	r := &Reclaimer{Machine: m, Policy: Default, Fullest: func() float64 { return 0 }, Tell: func(r Round) error { told = append(told, r); return nil }}
	if err := r.Prepare(); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000, 0)
	round := func() map[string]Round {
		t.Helper()
		told = nil
		if err := r.round(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		at = at.Add(6 * time.Second)
		byGroup := map[string]Round{}
		for _, r := range told {
			byGroup[r.Group] = r
		}
		if len(told) != 2 || len(byGroup) != 2 {
			t.Errorf("told %+v", told)
		}
		return byGroup
	}
	if got := round(); got["user.slice"].Reason == "" || got["system.slice"].AskedBytes != 0 {
		t.Errorf("at first: %+v", got)
	}
	write(t, m, "cg/user.slice/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=601000\n")
	got := round()
	if user := got["user.slice"]; user.AskedBytes != 0 || user.MemoryPressure != 0.1 {
		t.Errorf("a group that waits: %+v", user)
	}
	if system := got["system.slice"]; system.AskedBytes != 1<<30/100 || system.Reason != "" {
		t.Errorf("a calm group: %+v", system)
	}
	if text, err := m.Read("cg/system.slice/memory.reclaim"); err != nil || text != "10737418" {
		t.Errorf("the kernel was asked for %q, %v", text, err)
	}
	if text, err := m.Read("cg/user.slice/memory.reclaim"); err != nil || text != "" {
		t.Errorf("the kernel was asked for %q, %v", text, err)
	}
	r.DryRun = true
	write(t, m, "cg/system.slice/memory.reclaim", "")
	if got := round(); got["system.slice"].AskedBytes == 0 {
		t.Errorf("in a dry run: %+v", got)
	}
	if text, err := m.Read("cg/system.slice/memory.reclaim"); err != nil || text != "" {
		t.Errorf("in a dry run the kernel was asked for %q, %v", text, err)
	}
	write(t, m, "proc/vmstat", "pswpin 0\npswpout 9000\n")
	if got := round(); got["system.slice"].AskedBytes != 0 {
		t.Errorf("after much was written to swap: %+v", got)
	}
}

// Run ends with its context, and with an error of Tell.
func TestRunEnds(t *testing.T) {
	full := errors.New("the disk is full")
	r := &Reclaimer{Machine: machine(t, nil), Policy: Default, Fullest: func() float64 { return 0 }, Tell: func(Round) error { return nil }}
	r.Policy.Interval = time.Millisecond
	if err := r.Prepare(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if err := r.Run(ctx); err != nil {
		t.Error(err)
	}
	r.Tell = func(Round) error { return full }
	if err := r.Run(t.Context()); !errors.Is(err, full) {
		t.Error(err)
	}
}

// Machines and groups that cannot be asked are refused.
func TestPrepareRefuses(t *testing.T) {
	v1 := map[string]string{"proc/self/mountinfo": "41 31 0:38 / /cg rw - cgroup cgroup rw,memory\n"}
	none := map[string]string{"proc/self/mountinfo": "41 31 0:38 / /proc rw - proc proc rw\n"}
	old := machine(t, nil)
	for _, name := range []string{"cg/user.slice/memory.reclaim", "cg/system.slice/memory.reclaim"} {
		if err := os.Remove(old.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	blind := machine(t, nil) // as with psi=0
	for _, name := range []string{"cg/user.slice/memory.pressure", "cg/system.slice/memory.pressure"} {
		if err := os.Remove(blind.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		m      host.Root
		groups []string
		want   error
	}{
		{machine(t, v1), nil, ErrUnsupported}, {machine(t, none), nil, ErrUnsupported}, {old, nil, ErrUnsupported},
		{blind, nil, ErrUnsupported}, {blind, []string{"/cg/user.slice"}, ErrUnsupported},
		{machine(t, nil), []string{"/cg/nowhere"}, fs.ErrNotExist}, {machine(t, nil), []string{"/cg/not-under-memory"}, fs.ErrNotExist},
		{machine(t, nil), []string{"/cg/user.slice"}, nil},
	} {
		r := &Reclaimer{Machine: c.m, Policy: Default, Groups: c.groups}
		if err := r.Prepare(); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.groups, err, c.want)
		}
	}
}

// A group whose waits the kernel does not tell, and one that was made anew, are asked for nothing.
func TestBlind(t *testing.T) {
	m := machine(t, nil)
	told := map[string]Round{}
	r := &Reclaimer{Machine: m, Policy: Default, Fullest: func() float64 { return 0 }, Tell: func(r Round) error { told[r.Group] = r; return nil }}
	if err := r.Prepare(); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000, 0)
	if err := r.round(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(m.Path("cg/system.slice/memory.pressure")); err != nil { // as with cgroup.pressure 0
		t.Fatal(err)
	}
	write(t, m, "cg/user.slice/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n")
	if err := r.round(t.Context(), at.Add(6*time.Second)); err != nil {
		t.Fatal(err)
	}
	for group, got := range told {
		if got.AskedBytes != 0 || got.Reason == "" || got.MemoryPressure != 0 {
			t.Errorf("%s: %+v", group, got)
		}
	}
}
