// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/slots"
	"github.com/zramfs/zramfs/loopsetup"
)

func TestUsage(t *testing.T) {
	const mib = 1 << 20
	well := wellDevice() // 2400 used: 100 ballast, 50 copies; 2900 stored in 1000 by processes of 20
	if got, want := *newUsage(well), (usage{InSwap: 2250 * mib, Copies: 50 * mib, Freed: 600*mib - pageSize, Ballast: 100 * mib,
		Saved: 1230 * mib}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Two devices with the same use have half of the copies each.
	two := wellDevice()
	two.swapUse.all = 4800 * mib
	if got := newUsage(two).Copies; got != 25*mib {
		t.Errorf("%d bytes of copies", got)
	}
	// Pages of zeros are used and not stored.
	zeros := wellDevice()
	zeros.Status.Memory.OrigDataSize = mib
	if got := newUsage(zeros); got.Freed != 0 {
		t.Errorf("%+v", got)
	}
	empty := wellDevice()
	empty.Swaps = []loopsetup.Swap{{Path: "/dev/loop3", Size: 4096*mib - 4096}}
	empty.swapUse = swapUse{}
	empty.Status.Memory.OrigDataSize, empty.Status.Memory.MemUsedTotal = pageSize, 10*mib
	if got, want := *newUsage(empty), (usage{Saved: -30 * mib}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	columns, err := parseColumns("IN-SWAP,COPIES,FREED")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"2.2G", "50M", "600M"} {
		if got := formatCell(columns[i].value(well), false); got != want {
			t.Errorf("list prints %s for %s, want %s", got, columns[i].Name, want)
		}
	}
	file := wellDevice()
	file.Swaps = nil
	if got := newUsage(file); got != nil {
		t.Errorf("without swap: %+v", got)
	}
}

func TestSlotsWords(t *testing.T) {
	const gib = 1 << 30
	held := slotsProcess{policy: slots.Auto, pid: 44, ballast: gib}
	for want, u := range map[string]swapUse{
		"freed when a page is read back (auto): process 44 holds 1G":      {slots: held, all: 3 * gib, total: 4 * gib},
		"freed when a page is read back (keep): half of all swap":         {slots: slotsProcess{policy: slots.Keep}, all: 3 * gib, total: 4 * gib},
		"kept until half of all swap is in use (keep)":                    {slots: slotsProcess{policy: slots.Keep}, total: 4 * gib},
		"kept until half of all swap is in use (auto)":                    {slots: slotsProcess{policy: slots.Auto, pid: 44}, total: 4 * gib},
		"kept (auto): the process that held ballast has ended: zramfs up": {slots: slotsProcess{policy: slots.Auto}, total: 4 * gib},
		"kept (free): there is no ballast yet":                            {slots: slotsProcess{policy: slots.Free, pid: 44}, total: 4 * gib},
		"kept until half of all swap is in use":                           {total: 4 * gib},
	} {
		if got := u.slotsWords(); !strings.HasPrefix(got, want) {
			t.Errorf("%+v: %q, want %q", u, got, want)
		}
	}
}

// A process is found by its PID and its start time.
func TestNotedSlotsProcess(t *testing.T) {
	us, ok := host.Local.Process(os.Getpid())
	if !ok {
		t.Fatal("this process is not found")
	}
	if p, ok := (notedSlots{PID: us.PID, Started: us.Start}).process(); !ok || p.PID != us.PID {
		t.Errorf("%+v, %v", p, ok)
	}
	if p, ok := (notedSlots{PID: us.PID, Started: us.Start + 1}).process(); ok {
		t.Errorf("another process: %+v", p)
	}
	if p := (device{rec: &record{}}).findSlots(); p.policy != slots.Keep || p.pid != 0 {
		t.Errorf("a record without one: %+v", p)
	}
	if p := (device{}).findSlots(); p != (slotsProcess{}) {
		t.Errorf("no record: %+v", p)
	}
}

func TestDefaultDevices(t *testing.T) {
	swaps, err := loopsetup.Swaps()
	if err != nil {
		t.Fatal(err)
	}
	left := max(1, (kernelAreas-len(swaps))*3/4)
	const mib = 1 << 20
	for _, c := range []struct {
		size     uint64
		priority int
		want     int
	}{{32 * mib, 100, 1}, {64 * mib, 100, 1}, {256 * mib, 100, 7}, {4096 * mib, 100, maxDefault}, {4096 * mib, 3, 4}, {4096 * mib, 0, 1}} {
		if got := defaultDevices(c.size, c.priority); got != min(c.want, left) {
			t.Errorf("%d MiB at priority %d: %d areas, want %d", c.size/mib, c.priority, got, c.want)
		}
	}
}
