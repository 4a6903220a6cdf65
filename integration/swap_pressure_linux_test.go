// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"regexp"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/loopsetup"
)

const (
	// pressureLimit is what the group of the test may keep in memory, and
	// pressureSize what its process writes.
	pressureLimit = 96 << 20
	pressureSize  = 384 << 20
)

// The main job, real swap under real pressure: a process writes several times the
// memory that it may have, and every page comes back as it was. F070:
// /proc/swaps shows the device.
func TestSwapF070HoldsWhatMemoryCannot(t *testing.T) {
	group := memoryGroup(t, "pressure", pressureLimit)
	m := startMemory(t, memoryOrder{Pages: pressureSize / memoryPage, Source: realSource(t), Group: group})
	dir := swapDir(t)
	up := mustRun(t, commandTimeout, "up", "-v", "--size", "1G", "--devices", "1", dir)
	wantSteps(t, up.Stdout, "mount ok "+data(dir)+", 1G, adaptive", "loop ok /dev/loop", "mkswap ok UUID ",
		"swap ok priority 100, discard pages", "1G of compressed swap is on: /dev/loop")
	pid := statusOf(t, dir).PID
	press(t, m, dir)
	wantShown(t, dir)

	wantGroupRefused(t, dir, group)
	liftLimit(t, group)
	down := mustRun(t, downTimeout, "down", "-v", dir)
	t.Logf("down:\n%s", down.Stdout)
	wantSteps(t, down.Stdout, "fit ok ", "swap ok /dev/loop", "loop ok /dev/loop", "mount ok "+dir+" unmounted")
	wantNothingLeft(t, dir)
	if running(pid) {
		t.Errorf("the serving process %d lives on", pid)
	}
	m.do(t, "walk") // all pages, the rewritten ones included
	m.end(t)
}

// wantGroupRefused checks that down changes nothing as long as the group has no
// room for its pages: swapoff charges each to the group of its owner, and the
// kernel would kill the process where the limit is reached.
func wantGroupRefused(t *testing.T, dir, group string) {
	t.Helper()
	before, server := oneSwap(t, dir), statusOf(t, dir).PID
	r := run(t, downTimeout, "down", dir)
	t.Logf("down: %s", r.Stderr)
	wantRefusal(t, r, "memory limit of "+group+" (needs ", "limit 96M", "aise memory.", "--force")
	if r.Stdout != "" {
		t.Errorf("it refuses and prints\n%s", r.Stdout)
	}
	after := oneSwap(t, dir)
	if after.Used < pressureSize/2 {
		t.Errorf("only %d bytes are in swap after the refusal", after.Used)
	}
	if after.Used = before.Used; after != before {
		t.Errorf("swap was %+v and is %+v", before, after)
	}
	if now := statusOf(t, dir).PID; now != server {
		t.Errorf("process %d serves instead of %d", now, server)
	}
}

// press fills the memory, reads all of it back in order, and then some at random while it writes
// others.
func press(t *testing.T, m *memoryClient, dir string) {
	t.Helper()
	fill := m.do(t, "fill")
	if out := uint64(pressureSize - pressureLimit); fill.Swapped < out {
		t.Errorf("%d bytes were swapped out, the limit asks for %d", fill.Swapped, out)
	}
	s := statusOf(t, dir)
	if out := uint64(pressureSize - pressureLimit); s.Memory.OrigDataSize < out {
		t.Errorf("the device stores %d bytes of %d swapped out", s.Memory.OrigDataSize, fill.Swapped)
	}
	walk := m.do(t, "walk")
	random := m.do(t, "random")
	t.Logf("%d MiB in a limit of %d MiB: fill %.0f MB/s, walk %.0f MB/s, random %.1f us a page",
		pressureSize>>20, pressureLimit>>20, fill.perSecond(), walk.perSecond(),
		float64(random.Took.Microseconds())/float64(random.Pages))
	t.Logf("after the fill %d bytes stored in %d bytes of memory, ratio %.2f", s.Memory.OrigDataSize, s.Memory.MemUsedTotal,
		float64(s.Memory.OrigDataSize)/float64(s.Memory.MemUsedTotal))
	if s := statusOf(t, dir); s.IO.FailedReads+s.IO.FailedWrites+s.IO.ChecksumErrors != 0 {
		t.Errorf("errors: %+v", s.IO)
	}
}

// wantShown checks what the program and the kernel say of the device in use.
func wantShown(t *testing.T, dir string) {
	t.Helper()
	area := oneSwap(t, dir)
	if area.Priority != 100 || area.Size != 1<<30-memoryPage || area.Type != "partition" || area.Used == 0 {
		t.Errorf("/proc/swaps says %+v", area)
	}
	if info, err := loopsetup.Inspect(area.Path); err != nil || !info.DirectIO || !info.Autoclear || info.BlockSize != memoryPage {
		t.Errorf("the loop device is %+v, %v", info, err)
	}
	list := mustRun(t, commandTimeout, "list", dir).Stdout
	row := regexp.MustCompile(`(?m)^` + area.Path + ` +adaptive +1G .* \[SWAP\]$`)
	if !row.MatchString(list) {
		t.Errorf("list prints no row like %s:\n%s", row, list)
	}
	health := mustRun(t, commandTimeout, "status", dir).Stdout
	for _, word := range []string{"healthy", area.Path, "direct I/O on", "priority 100"} {
		if !strings.Contains(health, word) {
			t.Errorf("status does not say %q:\n%s", word, health)
		}
	}
	t.Logf("list:\n%sstatus:\n%s", list, health)
}
