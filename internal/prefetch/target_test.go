// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"slices"
	"testing"

	"github.com/zramfs/zramfs/internal/procpages"
)

const page = procpages.PageSize

// The largest process comes first, and of equals the one that was named first.
func TestLargestFirst(t *testing.T) {
	var all []*target
	for pid, pages := range []int64{5, 90, 5, 100} {
		all = append(all, newTarget(pid, "", []procpages.Run{{First: 0, Pages: pages}}))
	}
	largestFirst(all)
	var pids []int
	for _, a := range all {
		pids = append(pids, a.pid)
	}
	if want := []int{3, 1, 0, 2}; !slices.Equal(pids, want) {
		t.Errorf("%v, want %v", pids, want)
	}
}

// Batches take the runs in their order, divide those that are longer, and add up to all of them.
func TestTake(t *testing.T) {
	t1 := newTarget(1, "", []procpages.Run{{First: 100 * page, Pages: 5}, {First: 0, Pages: 2}, {First: 50 * page, Pages: 1}})
	for i, want := range [][]procpages.Run{
		{{First: 100 * page, Pages: 3}},
		{{First: 103 * page, Pages: 2}, {First: 0, Pages: 1}},
		{{First: page, Pages: 1}, {First: 50 * page, Pages: 1}},
		nil,
	} {
		if got := t1.take(nil, 3); !slices.Equal(got, want) {
			t.Errorf("batch %d: %v, want %v", i, got, want)
		}
	}
	if t1.left() != 0 || t1.asked != 8 {
		t.Errorf("%d left of %d", t1.left(), t1.pages)
	}
}
