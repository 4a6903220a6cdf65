// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/aside"
	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/tune"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/loopsetup"
)

// upDevice returns a device that is up.
func upDevice() devices.Device {
	return devices.Device{
		Dir: "/run/zram", Loops: []loopsetup.Info{{Path: "/dev/loop3"}},
		Status: &daemon.Status{Disksize: 1 << 30, Algorithm: "adaptive"},
		Swaps:  []loopsetup.Swap{{Path: "/dev/loop3", Size: 1<<30 - 4096, Priority: 100}},
	}
}

// A device used as swap is up already, unless its serving process does not answer: a user who
// starts it again after a death must not hear that all is well.
func TestUpAlready(t *testing.T) {
	up := upDevice()
	if d, err := upAlready([]devices.Device{up}); d == nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
	if d, err := upAlready(nil); d != nil || err != nil {
		t.Errorf("elsewhere: %v, %v", d, err)
	}
	for _, reason := range []error{aside.ErrNoAnswer, errors.New("it cannot be read")} {
		d := up
		d.Status, d.Err = nil, fmt.Errorf("%s: %w", d.Dir, reason)
		if _, err := upAlready([]devices.Device{d}); !errors.Is(err, reason) || !strings.Contains(err.Error(), "/dev/loop3") {
			t.Errorf("%v: %v", reason, err)
		}
	}
	dead := up
	dead.Status, dead.Err, dead.Swaps[0].Used = nil, devices.ErrDead, 12<<20
	const lost = "/run/zram: /dev/loop3 is still swap and no process serves it: 12M are lost: zramfs down --force /run/zram"
	if _, err := upAlready([]devices.Device{dead}); err == nil || err.Error() != lost {
		t.Errorf("dead: %v, want %s", err, lost)
	}
	away := up
	away.Away, away.Keeper = true, 24942
	const there = "/run/zram: a device is up in another mount namespace (keeper 24942, /dev/loop3, 12M in swap); zramfs down /run/zram ends it"
	if _, err := upAlready([]devices.Device{away}); err == nil || err.Error() != there {
		t.Errorf("away: %v, want %s", err, there)
	}
}

// Only given values are compared; differing ones are named on both sides.
func TestUpWithOtherValues(t *testing.T) {
	d := upDevice()
	d.Record = &devices.Record{Tune: tune.Keep}
	lz4, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	w := wish{cfg: daemon.Config{Disksize: 2 << 30, Algorithm: lz4, MemLimit: 1 << 29},
		swap: swapConfig{priority: 5, devices: 2, tune: tune.Recommended}}
	for _, test := range []struct{ given, has, wants string }{
		{"", "", ""},
		{"size", "1G", "2G"},
		{"algorithm", "algorithm adaptive", "algorithm lz4"},
		{"mem-limit", "no memory limit", "a memory limit of 512M"},
		{"priority", "priority 100", "priority 5"},
		{"devices", "loop devices: 1", "loop devices: 2"},
		{"tune", "tune keep", "tune recommended"},
		{"sysctl", "tune keep", "tune recommended"},
		{"size priority", "1G, priority 100", "2G, priority 5"},
	} {
		w.set = func(flag string) bool { return slices.Contains(strings.Fields(test.given), flag) }
		has, wants := w.differs(d)
		if strings.Join(has, ", ") != test.has || strings.Join(wants, ", ") != test.wants {
			t.Errorf("%q: it has %q, the user wants %q; want %q, %q", test.given, has, wants, test.has, test.wants)
		}
	}
	w.set = func(string) bool { return true }
	w.cfg.Disksize = 1<<30 + 4096
	if has, wants := w.differs(d); has[0] != "1G" || wants[0] != "1073745920 bytes" {
		t.Errorf("a page more: %q, %q", has, wants)
	}
}
