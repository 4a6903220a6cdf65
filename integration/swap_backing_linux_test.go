// SPDX-License-Identifier: Apache-2.0

package integration

import "testing"

// Pages in swap come back from the backing device as they were, while they are written back and a
// process touches them.
func TestSwapWrittenBack(t *testing.T) {
	const limit, size = 48 << 20, 192 << 20
	group := memoryGroup(t, "backing", limit)
	backing := backingFile(t, 256<<20)
	m := startMemory(t, memoryOrder{Pages: size / memoryPage, Source: realSource(t), Group: group})
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "512M", "--devices", "1", "--spill", backing, dir)
	m.do(t, "fill")
	wantAnswer(t, dir, "idle", "all", nil)
	wantAnswer(t, dir, "writeback", "idle", nil)
	away, used := backedFigure(t, dir, 0), statusOf(t, dir).Memory
	if least := uint64(size-limit) / memoryPage / 2; away < least {
		t.Errorf("%d pages were written back, %d at least should be", away, least)
	}
	stop, ended := make(chan struct{}), make(chan string, 1)
	go func() { ended <- writeBackForEver(dir, stop) }()
	walk, random := m.do(t, "walk"), m.do(t, "random")
	close(stop)
	if wrong := <-ended; wrong != "" {
		t.Error(wrong)
	}
	s := statusOf(t, dir)
	if s.Backing.Reads < away/2 || s.IO.FailedReads+s.IO.FailedWrites+s.IO.ChecksumErrors+s.Backing.FailedWrites != 0 {
		t.Errorf("%d pages were read from the backing device, %d lay there; errors: %+v, %+v", s.Backing.Reads, away, s.IO, s.Backing)
	}
	t.Logf("%d pages written back, memory in use %d bytes then; walk %.0f MB/s, random %.1f us a page; %+v", away, used.MemUsedTotal,
		walk.perSecond(), float64(random.Took.Microseconds())/float64(random.Pages), s.Backing)
	liftLimit(t, group)
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	m.do(t, "walk")
	m.end(t)
}

// Swap that does not fit below the memory limit goes on to the backing device while programs are
// reclaimed, and no write to swap fails.
func TestSwapSpills(t *testing.T) {
	const limit, size, memLimit = 48 << 20, 192 << 20, 24 << 20
	group := memoryGroup(t, "spill", limit)
	backing := backingFile(t, 256<<20)
	m := startMemory(t, memoryOrder{Pages: size / memoryPage, Source: realSource(t), Group: group})
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "512M", "--devices", "1", "--mem-limit", "24M", "--spill", backing, dir)
	fill, walk, random := m.do(t, "fill"), m.do(t, "walk"), m.do(t, "random")
	s := statusOf(t, dir)
	if s.IO.FailedReads+s.IO.FailedWrites+s.IO.ChecksumErrors+s.Backing.FailedWrites != 0 || s.Spill.Pages == 0 || s.Memory.MemUsedMax > memLimit {
		t.Errorf("errors: %+v, %+v; spilled: %+v; memory %+v", s.IO, s.Backing, s.Spill, s.Memory)
	}
	t.Logf("fill %.0f MB/s, walk %.0f MB/s, random %.1f us a page; %d pages spilled, %d requests waited %.1f s for memory", fill.perSecond(), walk.perSecond(),
		float64(random.Took.Microseconds())/float64(random.Pages), s.Spill.Pages, s.Stalls.Requests, s.Stalls.Seconds)
	liftLimit(t, group)
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	m.do(t, "walk")
	m.end(t)
}
