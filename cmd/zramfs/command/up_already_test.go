// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/awake"
	"github.com/zramfs/zramfs/cmd/zramfs/background"
	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/setup"
	"github.com/zramfs/zramfs/cmd/zramfs/slots"
	"github.com/zramfs/zramfs/cmd/zramfs/tune"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/loopsetup"
	"github.com/zramfs/zramfs/store"
)

// Only given values are compared; differing ones are named on both sides.
func TestUpWithOtherValues(t *testing.T) {
	d := devices.Device{
		Dir: "/run/zram", Loops: []loopsetup.Info{{Path: "/dev/loop3", Autoclear: true}},
		Status: &daemon.Status{Disksize: 1 << 30, Algorithm: "adaptive", Latency: awake.Status{Policy: awake.Auto}},
		Swaps:  []loopsetup.Swap{{Path: "/dev/loop3", Size: 1<<30 - 4096, Priority: 100}},
	}
	d.Record = &devices.Record{Tune: tune.Keep, Discard: string(loopsetup.DiscardPages)}
	lz4, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	w := wish{cfg: daemon.Config{Disksize: 2 << 30, Algorithm: lz4, MemLimit: 1 << 29, Latency: awake.Off},
		swap: setup.SwapConfig{Priority: 5, Devices: 2, Tune: tune.Recommended, Slots: slots.Free, Discard: loopsetup.DiscardNone, Keep: true}}
	for _, test := range []struct{ given, has, wants string }{
		{"", "", ""},
		{"size", "1G", "2G"},
		{"algorithm", "algorithm adaptive", "algorithm lz4"},
		{"mem-limit", "no memory limit", "a memory limit of 512M"},
		{"priority", "priority 100", "priority 5"},
		{"latency", "latency auto", "latency off"},
		{"devices", "loop devices: 1", "loop devices: 2"},
		{"tune", "tune keep", "tune recommended"},
		{"sysctl", "tune keep", "tune recommended"},
		{"slots", "slots keep", "slots free"},
		{"discard", "discard pages", "discard none"},
		{"keep", "keep false", "keep true"},
		{"size priority", "1G, priority 100", "2G, priority 5"},
	} {
		w.set = func(flag string) bool { return slices.Contains(strings.Fields(test.given), flag) }
		has, wants := w.differs(d)
		if strings.Join(has, ", ") != test.has || strings.Join(wants, ", ") != test.wants {
			t.Errorf("%q: it has %q, the user wants %q; want %q, %q", test.given, has, wants, test.has, test.wants)
		}
	}
	for _, flag := range []string{flagCold, flagScrub} {
		w.set = func(given string) bool { return given == flag }
		d.Status.Cold.State, d.Status.Scrub.State = "", "" // of a worker of before
		if has, _ := w.differs(d); len(has) != 0 {
			t.Errorf("%s: %q", flag, has)
		}
		d.Status.Cold.State, d.Status.Scrub.State = background.StateWaiting, background.StateWaiting
		d.Status.Cold.Share, d.Status.Scrub.EverySeconds = 5, 3600
		w.cfg.Cold, w.cfg.Scrub = 10, 0
		has, wants := w.differs(d)
		if got := strings.Join(append(has, wants...), "; "); got != map[string]string{flagCold: "cold 5%; cold 10%", flagScrub: "scrub every 1h0m; scrub off"}[flag] {
			t.Errorf("%s: %s", flag, got)
		}
	}
	d.Record.Discard = "" // of an up of before
	w.set = func(flag string) bool { return flag == flagDiscard }
	if has, _ := w.differs(d); len(has) != 0 {
		t.Errorf("an unknown discard differs in %q", has)
	}
	w.cfg.SpillDaily = 1 << 30
	w.set = func(flag string) bool { return flag == flagSpillDaily }
	for state, want := range map[string]int{"": 0, background.StateOff: 0, "waiting": 1} { // "": of a worker of before
		d.Status.Spill.State = state
		if has, _ := w.differs(d); len(has) != want {
			t.Errorf("spilling that is %q differs in %q", state, has)
		}
	}
	w.cfg.OnFull = store.FullSpill
	w.set = func(flag string) bool { return flag == flagOnFull }
	for on, want := range map[store.OnFull]int{"": 0, store.FullSpill: 0, store.FullStall: 1} {
		d.Status.OnFull = on
		if has, _ := w.differs(d); len(has) != want {
			t.Errorf("on full %q differs in %q", on, has)
		}
	}
	dir := t.TempDir()
	d.Status.Backing.Path, w.cfg.Backing = dir, filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, w.cfg.Backing); err != nil {
		t.Fatal(err)
	}
	w.set = func(flag string) bool { return flag == "spill" }
	if has, wants := w.differs(d); len(has) != 0 {
		t.Errorf("a backing device by another name: %q, %q", has, wants)
	}
	w.set = func(string) bool { return true }
	w.cfg.Disksize = 1<<30 + 4096
	if has, wants := w.differs(d); has[0] != "1G" || wants[0] != "1073745920 bytes" {
		t.Errorf("a page more: %q, %q", has, wants)
	}
}
