// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"cmp"
	"slices"

	"github.com/zramfs/zramfs/internal/procpages"
)

// A target is a process with swapped pages, and how far they were asked for. It is used by one
// goroutine.
type target struct {
	pid   int
	group string          // directory of its control group
	runs  []procpages.Run // the longest first
	pages uint64          // in all runs

	next  int   // the first run that was not asked for completely
	into  int64 // pages of it that were
	asked uint64
}

func newTarget(pid int, group string, runs []procpages.Run) *target {
	t := &target{pid: pid, group: group, runs: runs}
	for _, r := range runs {
		t.pages += uint64(r.Pages)
	}
	return t
}

// largestFirst orders targets by their swapped pages.
func largestFirst(all []*target) {
	slices.SortStableFunc(all, func(a, b *target) int { return cmp.Compare(b.pages, a.pages) })
}

// left returns how many pages were not asked for.
func (t *target) left() uint64 { return t.pages - t.asked }

// take appends the next runs, of at most limit pages in all, to batch.
func (t *target) take(batch []procpages.Run, limit uint64) []procpages.Run {
	for limit > 0 && t.next < len(t.runs) {
		r := t.runs[t.next]
		part := procpages.Run{First: r.First + t.into*procpages.PageSize, Pages: min(r.Pages-t.into, int64(limit))}
		batch = append(batch, part)
		limit -= uint64(part.Pages)
		t.asked += uint64(part.Pages)
		if t.into += part.Pages; t.into == r.Pages {
			t.next, t.into = t.next+1, 0
		}
	}
	return batch
}
