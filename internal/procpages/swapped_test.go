// SPDX-License-Identifier: Apache-2.0

package procpages

import (
	"errors"
	"os"
	"slices"
	"testing"
)

// swappedTo is the entry of a page in a slot of an area.
func swappedTo(area, slot uint64) uint64 { return entrySwapped | slot<<typeBits | area }

func searched(t *testing.T, f *SwapFinder, entries table, mappings ...mapping) []Run {
	t.Helper()
	runs, err := f.search(t.Context(), entries, mappings, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func pagesFrom(first, end int64) mapping {
	return mapping{first: first * PageSize, end: end * PageSize, usable: true}
}

// Runs end at pages that are elsewhere and at the ends of mappings; the longest comes first.
func TestRunsOfSwappedPages(t *testing.T) {
	entries := table{
		swappedTo(0, 1), entryTaken, swappedTo(0, 7), swappedTo(1, 7), swappedTo(0, 9), 0, // 2 to 4
		swappedTo(0, 10), swappedTo(0, 11), // 6, and 7 in another mapping
		swappedTo(31, 5), swappedTo(firstSpecial, 1), swappedTo(0, 12) | entryGuard, swappedTo(0, 13) | entryPresent, // none
	}
	want := []Run{{2 * PageSize, 3}, {0, 1}, {6 * PageSize, 1}, {7 * PageSize, 1}}
	if got := searched(t, &SwapFinder{}, entries, pagesFrom(0, 7), pagesFrom(7, 12)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A slot counts once, whichever process has it; a slot that the kernel hides counts each time.
func TestSharedSlotsCountOnce(t *testing.T) {
	f := &SwapFinder{}
	parent := table{swappedTo(2, 100), swappedTo(2, 1), swappedTo(2, 2), entrySwapped}
	child := table{swappedTo(2, 1), swappedTo(1, 1), swappedTo(2, 100), entrySwapped}
	if got := searched(t, f, parent, pagesFrom(0, 4)); !slices.Equal(got, []Run{{0, 4}}) {
		t.Errorf("parent: %v", got)
	}
	if got := searched(t, f, child, pagesFrom(0, 4)); !slices.Equal(got, []Run{{PageSize, 1}, {3 * PageSize, 1}}) {
		t.Errorf("child: %v", got)
	}
}

// A mapping of a terabyte is not searched once everything that the kernel counts is found.
func TestHugeMappingsAreSearchedLast(t *testing.T) {
	entries := make(table, 2*walkBatch/entrySize)
	entries[0], entries[5] = swappedTo(0, 1), swappedTo(0, 2)
	huge := mapping{first: 4 * PageSize, end: 4*PageSize + 1<<40, usable: true}
	runs, err := (&SwapFinder{}).search(t.Context(), entries, []mapping{pagesFrom(0, 4), huge}, 2)
	if err != nil || !slices.Equal(runs, []Run{{0, 1}, {5 * PageSize, 1}}) {
		t.Errorf("%v, %v", runs, err)
	}
}

func TestSearchOfAnEndedProcess(t *testing.T) {
	if runs, err := (&SwapFinder{}).search(t.Context(), table{}, []mapping{pagesFrom(0, 4)}, 4); !errors.Is(err, ErrGone) {
		t.Errorf("%v, %v; want %v", runs, err, ErrGone)
	}
}

// Nothing is allocated for a page that is looked at.
func TestSearchAllocatesNothingPerPage(t *testing.T) {
	entries := make(table, walkBatch/entrySize)
	for i := range entries {
		entries[i] = swappedTo(0, uint64(i+1))
	}
	f := &SwapFinder{}
	all := []mapping{pagesFrom(0, int64(len(entries)))}
	allocated := testing.AllocsPerRun(5, func() {
		if _, err := f.search(t.Context(), entries, all, 1<<40); err != nil {
			t.Fatal(err)
		}
	})
	if allocated > 10 {
		t.Errorf("%v allocations for %d pages", allocated, len(entries))
	}
}

// The own process can be searched, and a number that is no process is told as such.
func TestFindHere(t *testing.T) {
	f := &SwapFinder{}
	if _, err := f.Find(t.Context(), os.Getpid()); err != nil {
		t.Error(err)
	}
	if _, err := f.Find(t.Context(), 1<<22+1); !errors.Is(err, ErrGone) {
		t.Errorf("%v, want %v", err, ErrGone)
	}
	maps, err := mappingsOf(os.Getpid())
	if err != nil || len(maps) < 5 || !slices.IsSortedFunc(maps, func(a, b mapping) int { return int((a.end - a.first) - (b.end - b.first)) }) {
		t.Errorf("%d mappings, %v", len(maps), err)
	}
}
