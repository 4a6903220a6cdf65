// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/tune"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/loopsetup"
	"github.com/zramfs/zramfs/store"
)

// Only given values are compared; differing ones are named on both sides.
func TestUpWithOtherValues(t *testing.T) {
	d := swapdev.Device{
		Dir: "/run/zram", Loops: []loopsetup.Info{{Path: "/dev/loop3", Autoclear: true}},
		Status: &status.Status{Disksize: 1 << 30, Algorithm: "adaptive", Latency: status.Latency{Policy: string(pmqos.Auto)}},
		Swaps:  []loopsetup.Swap{{Path: "/dev/loop3", Size: 1<<30 - 4096, Priority: 100}},
	}
	d.Record = &uprecord.Record{Tune: tune.Keep, Discard: string(loopsetup.DiscardPages)}
	lz4, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	w := wish{cfg: zramfsd.Config{Disksize: 2 << 30, Algorithm: lz4, MemLimit: 1 << 29, Latency: pmqos.Off},
		swap: swapdev.SwapConfig{Priority: 5, Devices: 2, Tune: tune.Recommended, Slots: ballast.Free, Discard: loopsetup.DiscardNone, Keep: true}}
	for _, test := range []struct{ given, has, wants string }{
		{"", "", ""},
		{"size", "1G", "2G"},
		{"algorithm", "algorithm adaptive", "algorithm lz4"},
		{"mem-limit", "no memory limit", "a memory limit of 512M"},
		{"priority", "priority 100", "priority 5"},
		{"latency", "latency auto", "latency off"},
		{"devices", "loop devices: 1", "loop devices: 2"},
		{"tune", "tune keep", "tune recommended"},
		{"slots", "slots keep", "slots free"},
		{"discard", "discard pages", "discard none"},
		{"keep", "keep false", "keep true"},
		{"size priority", "1G, priority 100", "2G, priority 5"},
	} {
		w.set = func(flag string) bool { return slices.Contains(strings.Fields(test.given), flag) }
		x := w.differs(d)
		has, wants := x.has, x.wants
		if strings.Join(has, ", ") != test.has || strings.Join(wants, ", ") != test.wants {
			t.Errorf("%q: it has %q, the user wants %q; want %q, %q", test.given, has, wants, test.has, test.wants)
		}
	}
	for _, flag := range []string{flagCold, flagScrub} {
		w.set = func(given string) bool { return given == flag }
		d.Status.Cold.State, d.Status.Scrub.State = status.Waiting, status.Waiting
		d.Status.Cold.Share, d.Status.Scrub.EverySeconds = 5, 3600
		w.cfg.Cold, w.cfg.Scrub = 10, 0
		x := w.differs(d)
		has, wants := x.has, x.wants
		if got := strings.Join(append(has, wants...), "; "); got != map[string]string{flagCold: "cold 5%; cold 10%", flagScrub: "scrub every 1h0m; scrub off"}[flag] {
			t.Errorf("%s: %s", flag, got)
		}
	}
	w.cfg.SpillDaily = 1 << 30
	w.set = func(flag string) bool { return flag == flagSpillDaily }
	for state, want := range map[string]int{status.Off: 0, "waiting": 1} {
		d.Status.Spill.State = state
		if has := w.differs(d).has; len(has) != want {
			t.Errorf("spilling that is %q differs in %q", state, has)
		}
	}
	w.cfg.OnFull = store.FullSpill
	w.set = func(flag string) bool { return flag == flagOnFull }
	for on, want := range map[store.OnFull]int{store.FullSpill: 0, store.FullStall: 1} {
		d.Status.OnFull = string(on)
		if has := w.differs(d).has; len(has) != want {
			t.Errorf("on full %q differs in %q", on, has)
		}
	}
	dir := t.TempDir()
	d.Status.Backing.Path, w.cfg.Backing = dir, filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, w.cfg.Backing); err != nil {
		t.Fatal(err)
	}
	w.set = func(flag string) bool { return flag == "spill" }
	if x := w.differs(d); len(x.has) != 0 {
		t.Errorf("a backing device by another name: %+v", x)
	}
	w.set = func(string) bool { return true }
	w.cfg.Disksize = 1<<30 + 4096
	if x := w.differs(d); x.has[0] != "1G" || x.wants[0] != "1048580K" {
		t.Errorf("a page more: %+v", x)
	}
}

// The error of an up with other values names the commands that give the device what was asked for:
// set for what changes in use, down for the rest. Its sizes are in units and its names quoted.
func TestUpNamesWhatChangesInUse(t *testing.T) {
	d := swapdev.Device{
		Dir: "/run/a b", Loops: []loopsetup.Info{{Path: "/dev/loop3", Autoclear: true}},
		Status: &status.Status{Disksize: 987364 << 10, Algorithm: "adaptive", MemLimit: 1011060736},
		Swaps:  []loopsetup.Swap{{Path: "/dev/loop3", Size: 1 << 29, Priority: 100}},
	}
	zstd, err := codec.Parse("zstd(level=5)")
	if err != nil {
		t.Fatal(err)
	}
	w := wish{cfg: zramfsd.Config{Disksize: 987360 << 10, Algorithm: zstd, MemLimit: 1 << 29, Backing: "/srv/c d"}, swap: swapdev.SwapConfig{Priority: 5}}
	const set, down = "zramfs set '/run/a b' ", "zramfs down '/run/a b', then up"
	for given, want := range map[string]string{
		"mem-limit":           "a memory limit of 964.2M; you asked for a memory limit of 512M. To change it: " + set + "mem-limit=512M",
		"algorithm mem-limit": "algorithm adaptive, a memory limit of 964.2M; you asked for algorithm zstd(level=5), a memory limit of 512M. To change it: " + set + "'algorithm=zstd(level=5)' mem-limit=512M",
		"mem-limit priority":  "a memory limit of 964.2M, priority 100; you asked for a memory limit of 512M, priority 5. To change it: " + set + "mem-limit=512M; the rest: " + down,
		"spill":               "no backing device; you asked for backing device '/srv/c d'. To change it: " + down,
		"size":                "987364K; you asked for 987360K. To change it: " + down,
	} {
		w.set = func(flag string) bool { return slices.Contains(strings.Fields(given), flag) }
		if err := sayUp(nil, nil, d, w); err == nil || err.Error() != "'/run/a b' is up with "+want {
			t.Errorf("%s: %v, want %s", given, err, want)
		}
	}
}
