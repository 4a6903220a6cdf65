// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/zramfs/zramfs/loopsetup"
)

// Several loop devices on slices of one data file are used one after the other,
// shown as one device, and ended together.
func TestSwapSeveralDevices(t *testing.T) {
	group := memoryGroup(t, "devices", pressureLimit)
	m := startMemory(t, memoryOrder{Pages: pressureSize / memoryPage, Source: sourceMix, Group: group})
	dir := swapDir(t)
	up := mustRun(t, commandTimeout, "up", "-v", "--size", "1000004K", "--devices", "3", "--slots", "keep", dir)
	wantSteps(t, up.Stdout, "loop ok /dev/loop", "loop ok /dev/loop", "loop ok /dev/loop", "mkswap ok", "mkswap ok", "mkswap ok",
		"swap ok /dev/loop", "swap ok /dev/loop", "swap ok /dev/loop")
	m.do(t, "fill")
	on, err := swapOn(dir)
	if err != nil || len(on) != 3 {
		t.Fatalf("swap areas: %+v, %v", on, err)
	}
	var size uint64
	for i, area := range on {
		size += area.Size + memoryPage
		if area.Priority != 100-i {
			t.Errorf("area %d has another priority: %+v", i, area)
		}
	}
	// The others come when it is full, but for a cluster of 2 MiB a CPU.
	if on[0].Used < min(on[0].Size, pressureSize-pressureLimit)-16<<20 {
		t.Errorf("the first is not used first: %+v", on)
	}
	if size != 1000004<<10 {
		t.Errorf("the areas have %d bytes", size)
	}
	m.do(t, "walk")
	m.do(t, "random")
	list := mustRun(t, commandTimeout, "list", "--noheadings", "--raw", "-b", "--output", "NAME,DISKSIZE,MOUNTPOINT", dir).Stdout
	if !regexp.MustCompile(`^/dev/loop\d+ 1024004096 \[SWAP\]\n$`).MatchString(list) {
		t.Errorf("list prints %q", list)
	}
	var all struct {
		Zramfs []struct {
			Loops []struct {
				Path   string
				Offset uint64
				Swap   struct{ Used uint64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, commandTimeout, "status", "-J", dir).Stdout), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Zramfs) != 1 || len(all.Zramfs[0].Loops) != 3 || all.Zramfs[0].Loops[1].Offset != on[0].Size+memoryPage ||
		all.Zramfs[0].Loops[2].Offset != on[0].Size+on[1].Size+2*memoryPage || all.Zramfs[0].Loops[1].Swap.Used == 0 {
		t.Errorf("status -J shows %+v", all)
	}
	liftLimit(t, group)
	down := mustRun(t, downTimeout, "down", "-v", dir)
	wantSteps(t, down.Stdout, "fit ok ", "swap ok /dev/loop", "swap ok /dev/loop", "swap ok /dev/loop", "loop ok /dev/loop", "mount ok "+dir)
	wantNothingLeft(t, dir)
	m.do(t, "walk")
	m.end(t)
}

// The kernel has fewer numbers for swap areas than up may be asked for: those that
// were turned on by then are turned off again.
func TestSwapUpUndoesSeveralDevices(t *testing.T) {
	dir := swapDir(t)
	before := kernelParameters(t)
	r := run(t, commandTimeout, "up", "-v", "--size", "64M", "--devices", "32", "--tune", "recommended", dir)
	wantRefusal(t, r, "swapon /dev/loop", "operation not permitted")
	wantSteps(t, r.Stdout, "mount ok", "tune ok vm.", "swap ok /dev/loop", "tune ok restored vm.")
	wantNothingLeft(t, dir)
	if after := kernelParameters(t); after != before {
		t.Errorf("kernel parameters were %q and are %q", before, after)
	}
}

// swapoff by hand ends the device, and its keeper restores the kernel parameters.
func TestSwapOffByHand(t *testing.T) {
	dir := swapDir(t)
	before := kernelParameters(t)
	mustRun(t, commandTimeout, "up", "--size", "512M", "--tune", "recommended", dir)
	if during := kernelParameters(t); during == before {
		t.Errorf("kernel parameters are %q as before", during)
	}
	keeper, slots := statusOf(t, dir).KeeperPID, slotsStatus(t, dir).Slots.PID
	swapOffAll(t, dir)
	if !waitEnd(keeper, answerTimeout) {
		t.Errorf("the keeper %d lives on", keeper)
	}
	if slots == 0 || !waitEnd(slots, answerTimeout) {
		t.Errorf("the process %d lives on", slots)
	}
	if after := kernelParameters(t); after != before {
		t.Errorf("kernel parameters were %q and are %q", before, after)
		mustRun(t, downTimeout, "down", dir)
	}
	if left, err := filepath.Glob("/run/zramfs/*zramfs-test-*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	wantNothingLeft(t, dir)
}

// With --keep the device is there for another swapon, and down ends it.
func TestSwapKept(t *testing.T) {
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--keep", "--size", "64M", dir)
	loops := swapOffAll(t, dir)
	time.Sleep(time.Second / 2)
	before := statusOf(t, dir)
	for _, loop := range loops {
		if err := loopsetup.SwapOn(loop, 100, loopsetup.DiscardPages); err != nil {
			t.Error(err)
		}
	}
	swapOffAll(t, dir)
	if after := statusOf(t, dir); after.KeeperPID != before.KeeperPID {
		t.Errorf("keeper %d became %d", before.KeeperPID, after.KeeperPID)
	}
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
}

// swapOffAll turns off the areas on a device's loop devices, which it returns.
func swapOffAll(t *testing.T, dir string) []string {
	t.Helper()
	loops := statusOf(t, dir).Loops
	if len(loops) == 0 {
		t.Error("no loop device is noted")
	}
	for _, loop := range loops {
		if err := loopsetup.SwapOff(loop); err != nil {
			t.Error(err)
		}
	}
	return loops
}
