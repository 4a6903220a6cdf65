// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// slotsOf is what status says of the slots of the device on dir.
type slotsOf struct {
	Usage struct {
		InSwap  uint64 `json:"in_swap"`
		Copies  uint64 `json:"copies"`
		Freed   uint64 `json:"freed_not_returned"`
		Ballast uint64 `json:"ballast"`
	} `json:"usage"`
	Slots struct {
		Policy string `json:"policy"`
		PID    int    `json:"pid"`
	} `json:"slots"`
	Swap struct{ Used uint64 } `json:"swap"`
}

func slotsStatus(t *testing.T, dir string) slotsOf {
	t.Helper()
	var all struct{ Zramfs []slotsOf }
	r := run(t, commandTimeout, "status", "-J", dir)
	if err := json.Unmarshal([]byte(r.Stdout), &all); err != nil || len(all.Zramfs) != 1 {
		t.Fatalf("status -J: %v\n%s%s", err, r.Stdout, r.Stderr)
	}
	return all.Zramfs[0]
}

// waitForBallast waits until the kernel frees slots on dir.
func waitForBallast(t *testing.T, dir string) slotsOf {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		s := slotsStatus(t, dir)
		if s.Usage.Ballast > 0 && s.Swap.Used > 256<<20 {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("no ballast: %+v", s)
		}
	}
}

// With --slots free the device holds hardly a page that is in memory as well, as kernel zram; with
// --slots keep it holds all that were read back. The process that makes the difference may be
// killed, and ends with the device.
func TestSwapSlots(t *testing.T) {
	const freed = pressureSize - pressureLimit // what is not in memory
	require.Swap(t)
	stored := map[string]uint64{}
	for _, policy := range []string{"free", "keep"} {
		t.Run(policy, func(t *testing.T) {
			group := memoryGroup(t, "slots", pressureLimit)
			m := startMemory(t, memoryOrder{Pages: pressureSize / memoryPage, Source: sourceMix, Group: group})
			dir := swapDir(t)
			mustRun(t, commandTimeout, "up", "--size", "1G", "--slots", policy, dir)
			if policy == "free" {
				waitForBallast(t, dir)
			}
			m.do(t, "fill")
			m.do(t, "walk")
			s := slotsStatus(t, dir)
			stored[policy] = statusOf(t, dir).Memory.OrigDataSize
			t.Logf("%d MiB stored: %+v", stored[policy]>>20, s)
			if s.Slots.Policy != policy || (s.Slots.PID != 0) != (policy == "free") {
				t.Errorf("status says %+v", s.Slots)
			}
			switch {
			case policy == "free" && s.Usage.Copies > pressureLimit/4*3: // on their way in or out
				t.Errorf("%d MiB are copies", s.Usage.Copies>>20)
			case policy == "keep" && s.Usage.Ballast > 0:
				t.Errorf("there is a ballast: %+v", s.Usage)
			}
			if s.Slots.PID != 0 { // nothing is lost with it
				if err := syscall.Kill(s.Slots.PID, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}
			m.do(t, "walk")
			liftLimit(t, group)
			mustRun(t, downTimeout, "down", dir)
			wantNothingLeft(t, dir)
			m.do(t, "walk")
			m.end(t)
		})
	}
	if stored["free"] > stored["keep"]-pressureLimit/4 || stored["keep"] < freed {
		t.Errorf("%d MiB are stored with free and %d with keep", stored["free"]>>20, stored["keep"]>>20)
	}
}

// The ballast makes way: all of the size can be used.
func TestSwapBallastMakesWay(t *testing.T) {
	const size = 480 << 20
	m := startMemory(t, memoryOrder{Pages: size / memoryPage, Source: sourceMix})
	m.do(t, "fill")
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "512M", "--slots", "free", dir)
	before := waitForBallast(t, dir)
	for end := time.Now().Add(20 * time.Second); ; {
		out := m.do(t, "pageout") // what finds no slot stays in memory, and goes out the next time
		if out.Swapped >= size*9/10 {
			break
		}
		if time.Now().After(end) {
			t.Errorf("%d of %d MiB are in swap next to a ballast of %d: %+v", out.Swapped>>20, size>>20, before.Usage.Ballast>>20,
				slotsStatus(t, dir))
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	m.do(t, "walk")
	m.end(t)
}

// A refusal of down leaves the policy as it was, and a device without its ballast goes down as
// well.
func TestSwapSlotsProcessEnds(t *testing.T) {
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "512M", "--slots", "free", dir)
	s := waitForBallast(t, dir)
	if r := run(t, commandTimeout, "up", "--size", "512M", "--slots", "keep", dir); r.Code != 1 {
		t.Errorf("up with another policy: exit code %d: %s", r.Code, r.Stderr)
	}
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	if running(s.Slots.PID) {
		t.Errorf("process %d lives on", s.Slots.PID)
	}
}
