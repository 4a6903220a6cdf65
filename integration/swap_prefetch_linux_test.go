// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/prefetch"
)

const prefetchPages = 256 << 20 / memoryPage

// prefetched runs zramfs prefetch and returns its report and its exit code.
func prefetched(t *testing.T, args ...string) (prefetch.Report, int) {
	t.Helper()
	r := run(t, commandTimeout, append([]string{"prefetch", "-J"}, args...)...)
	var all struct{ Prefetch prefetch.Report }
	if err := json.Unmarshal([]byte(r.Stdout), &all); err != nil {
		t.Fatalf("prefetch %q: %v\n%s%s", args, err, r.Stdout, r.Stderr)
	}
	t.Logf("prefetch %q: %+v", args, all.Prefetch)
	return all.Prefetch, r.Code
}

// pageOut has the client's pages swapped out, nine tenths at least, and returns their number.
func pageOut(t *testing.T, m *memoryClient) (pages uint64) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		pages = m.do(t, "pageout").Swapped / memoryPage
		if pages >= prefetchPages*9/10 {
			return pages
		}
		if time.Now().After(end) {
			t.Fatalf("only %d of %d pages were swapped out", pages, prefetchPages)
		}
	}
}

// A prefetch of a swapped-out process brings all of it back, or as much as --limit or its control
// group allow, and says so; every page is as it was.
func TestSwapPrefetchBringsAProcessBack(t *testing.T) {
	group := memoryGroup(t, "prefetch", 512<<20)
	m := startMemory(t, memoryOrder{Pages: prefetchPages, Source: realSource(t), Group: group})
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "1G", dir)
	m.do(t, "fill")
	out := pageOut(t, m)
	limitGroup(t, group, 64<<20) // takes what is in memory and in swap as well out of memory
	limitGroup(t, group, 512<<20)
	pid := strconv.Itoa(m.cmd.Process.Pid)

	r, code := prefetched(t, "--dry-run", "--pid", pid)
	if code != 0 || r.Found < out*99/100 || r.Asked != r.Found || r.Back != 0 {
		t.Errorf("dry run: exit code %d, %d of %d pages asked for, want all of about %d", code, r.Asked, r.Found, out)
	}
	const limit = 32 << 20 / memoryPage
	r, code = prefetched(t, "--limit", "32M", "--pid", pid)
	if code != 0 || r.Asked != limit || r.Back < limit*9/10 || r.Left[0].Reason != prefetch.Limit {
		t.Errorf("--limit: exit code %d, %d pages brought back, want %d", code, r.Back, limit)
	}
	wantGroupKept(t, group)
	liftLimit(t, group)
	r, code = prefetched(t, "--cgroup", group)
	if code != 0 || r.Back < r.Found*99/100 || r.Found < out/2 || r.Processes != 1 {
		t.Errorf("exit code %d, %d of %d pages brought back of %d that were swapped out", code, r.Back, r.Found, out)
	}
	walk := m.do(t, "walk")
	if walk.Swapped > out*memoryPage/50 {
		t.Errorf("%d bytes are in swap after the prefetch", walk.Swapped)
	}
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	m.do(t, "walk")
	m.end(t)
}

// down reads what is in swap ahead of swapoff, and with --force it does not: every page is as it
// was both ways. The log has the times.
func TestSwapDownReadsAhead(t *testing.T) {
	for name, flags := range map[string][]string{"ahead": nil, "swapoff alone": {"--force"}} {
		t.Run(name, func(t *testing.T) {
			group := memoryGroup(t, "ahead", pressureLimit)
			m := startMemory(t, memoryOrder{Pages: pressureSize / memoryPage, Source: realSource(t), Group: group})
			dir := swapDir(t)
			mustRun(t, commandTimeout, "up", "--size", "1G", dir)
			fill := m.do(t, "fill")
			liftLimit(t, group)
			began := time.Now()
			down := mustRun(t, downTimeout, slices.Concat([]string{"down", "-v"}, flags, []string{dir})...)
			t.Logf("%d MiB back, down took %.0f ms", fill.Swapped>>20, float64(time.Since(began).Microseconds())/1e3)
			if ahead := strings.Contains(down.Stdout, " read ahead of swapoff in "); ahead != (flags == nil) {
				t.Errorf("read ahead: %t\n%s", ahead, down.Stdout)
			}
			wantNothingLeft(t, dir)
			m.do(t, "walk")
			m.end(t)
		})
	}
}

// wantGroupKept lowers the limit of a group and checks that a prefetch stays below it: no process
// there is killed.
func wantGroupKept(t *testing.T, group string) {
	t.Helper()
	limitGroup(t, group, 128<<20)
	r, code := prefetched(t, "--cgroup", group)
	stays := slices.ContainsFunc(r.Left, func(l prefetch.Count) bool { return l.Reason == prefetch.Group })
	if code != 1 || !stays || r.Asked == 0 || r.Asked >= 128<<20/memoryPage {
		t.Errorf("below a limit: exit code %d, %d pages asked for, left %v", code, r.Asked, r.Left)
	}
	if n := groupKills(t, group); n != 0 {
		t.Errorf("the kernel has killed %d processes for the limit", n)
	}
}

// Processes that end are left out, and a prefetch of nothing is a success.
func TestPrefetchOfNothing(t *testing.T) {
	m := startMemory(t, memoryOrder{Pages: 16, Source: sourceMix})
	m.do(t, "fill")
	pid := strconv.Itoa(m.cmd.Process.Pid)
	if r, code := prefetched(t, "-n", "--pid", pid); code != 0 || len(r.Skipped) > 0 {
		t.Errorf("exit code %d, %+v", code, r)
	}
	m.end(t)
	wantRefusal(t, run(t, commandTimeout, "prefetch", "--pid", pid), "no process "+pid)
	wantRefusal(t, run(t, commandTimeout, "prefetch", "--pid", "2"), "kernel's own")
	wantRefusal(t, run(t, commandTimeout, "prefetch", "--cgroup", tempDir(t)), "no control group")
}

// limitGroup sets the memory limit of a group that memoryGroup made.
func limitGroup(t *testing.T, group string, limit int) {
	t.Helper()
	h, err := memoryHierarchy()
	if err != nil {
		t.Fatal(err)
	}
	set(t, limitFile(h, group), strconv.Itoa(limit))
}
