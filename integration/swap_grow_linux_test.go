// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/loopsetup"
)

// growDir is swapDir for a device that grows by one: that has a guard too.
func growDir(t *testing.T) (dir, further string) {
	t.Helper()
	dir = swapDir(t)
	further = filepath.Join(dir, "devices/zram1")
	guardSwap(t, further)
	return dir, further
}

// grow adds a device while swap is in use: the kernel fills it once the first is full, both are
// handed over by upgrade, and down ends both, once all of their pages fit into memory together.
func TestSwapGrow(t *testing.T) {
	meminfo := filepath.Join(tempDir(t), "meminfo")
	if err := os.WriteFile(meminfo, []byte("MemTotal: 65536 kB\nMemFree: 1024 kB\nMemAvailable: 102400 kB\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := startMemory(t, memoryOrder{Pages: 96 << 20 / memoryPage, Source: sourceMix})
	m.do(t, "fill")
	dir, further := growDir(t)
	mustRun(t, commandTimeout, "up", "--size", "64M", "--devices", "1", "-a", "lz4", "--discard", "both", dir)
	r := mustRun(t, commandTimeout, "grow", "-v", "--size", "64M", "--devices", "2", dir)
	wantSteps(t, r.Stdout, "add ok "+data(further), "loop ok /dev/loop", "loop ok /dev/loop", "mkswap ok UUID ", "mkswap ok UUID ",
		"swap ok /dev/loop", "swap ok /dev/loop", "64M of compressed swap added to "+dir+": /dev/loop", "memory ")
	if !strings.Contains(r.Stdout, "priority 98, discard both") || !strings.HasSuffix(r.Stdout, "end: zramfs down "+dir+"\n") {
		t.Errorf("grow says\n%s", r.Stdout)
	}
	m.do(t, "pageout")
	all, err := loopsetup.Swaps()
	if err != nil || len(all) != 3 || all[0].Priority != 100 || all[1].Priority != 99 || all[2].Priority != 98 || all[1].Used == 0 {
		t.Errorf("swap areas: %+v, %v", all, err)
	}
	list := mustRun(t, commandTimeout, "list", "--noheadings", "--raw", "-b", "--output", "DISKSIZE,ALGORITHM,MOUNTPOINT", dir, further).Stdout
	if want := strings.Repeat("67108864 lz4 [SWAP]\n", 2); list != want {
		t.Errorf("list prints %q, want %q", list, want)
	}
	mustRun(t, commandTimeout, "status", further)
	for _, d := range []string{dir, further} {
		before := statusOf(t, d).WorkerPID
		if mustRun(t, commandTimeout, "upgrade", d); statusOf(t, d).WorkerPID == before {
			t.Errorf("worker %d of %s goes on after an upgrade", before, d)
		}
	}
	refused := runConfined(t, confinement{Cover: map[string]string{"/proc/meminfo": meminfo}}, "down", dir)
	wantRefusal(t, refused, "does not fit into memory", "100M of memory available", "--force")
	if now, err := loopsetup.Swaps(); err != nil || len(now) != len(all) {
		t.Errorf("swap areas were %+v and are %+v: %v", all, now, err)
	}
	down := mustRun(t, downTimeout, "down", "-v", dir)
	wantSteps(t, down.Stdout, "fit ok ", "swap ok /dev/loop", "swap ok /dev/loop", "swap ok /dev/loop", "loop ok", "mount ok "+further, "loop ok", "mount ok "+dir)
	wantNothingLeft(t, dir)
	m.do(t, "walk")
}

// limitKeeper bounds the address space of the keeper of a device and of the processes that it
// starts from now on, in bytes.
func limitKeeper(t *testing.T, dir string, bytes uint64) {
	t.Helper()
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(statusOf(t, dir).KeeperPID, unix.RLIMIT_AS, &limit, nil); err != nil {
		t.Fatal(err)
	}
}

// A grow that fails leaves nothing behind, and the extra device can be ended alone.
func TestSwapGrowUndone(t *testing.T) {
	dir, further := growDir(t)
	r := run(t, commandTimeout, "grow", "--size", "64M", dir)
	wantRefusal(t, r, "no zramfs device at "+dir)
	mustRun(t, commandTimeout, "up", "--size", "512M", "--devices", "1", "--slots", "free", "--keep", dir)
	first := oneSwap(t, dir)
	r = run(t, commandTimeout, "grow", "--size", "64M", "--devices", "32", dir)
	wantRefusal(t, r, "swapon /dev/loop", "operation not permitted")
	limitKeeper(t, dir, 16<<30)
	wantRefusal(t, run(t, commandTimeout, "grow", "--size", "16T", dir), "set disksize=", "cannot allocate memory")
	limitKeeper(t, dir, unix.RLIM_INFINITY)
	if now := oneSwap(t, dir); now.Path != first.Path || now.Priority != first.Priority {
		t.Errorf("swap was %+v and is %+v", first, now)
	}
	if _, err := os.Lstat(filepath.Join(dir, "dev/zram1")); !os.IsNotExist(err) {
		t.Errorf("the extra device is left: %v", err)
	}
	slots := slotsStatus(t, dir).Slots.PID
	var all struct {
		Grow struct {
			Dir      string
			Size     uint64
			Loops    []string
			Priority int
		}
	}
	err := json.Unmarshal([]byte(mustRun(t, commandTimeout, "grow", "-J", "--size", "64M", "--devices", "1", dir).Stdout), &all)
	if g := all.Grow; err != nil || g.Dir != further || g.Size != 64<<20 || len(g.Loops) != 1 || g.Priority != 99 {
		t.Errorf("grow -J says %+v, %v", g, err)
	}
	if now := slotsStatus(t, dir).Slots.PID; slots == 0 || now == 0 || now == slots {
		t.Errorf("process %d freed slots, and %d does now", slots, now)
	}
	wantRefusal(t, run(t, commandTimeout, "umount", dir), "is swapped to: zramfs down")
	mustRun(t, downTimeout, "down", further)
	if now := oneSwap(t, dir); now.Path != first.Path {
		t.Errorf("swap was %+v and is %+v", first, now)
	}
	name := addDevice(t, dir) // it may hold data
	wantRefusal(t, run(t, commandTimeout, "down", dir), name+" is a device of its own and may hold data")
	mustRun(t, commandTimeout, "umount", filepath.Join(dir, "devices", name))
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
}
