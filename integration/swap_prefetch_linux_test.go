// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const prefetchPages = 256 << 20 / memoryPage

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

// limitGroup sets the memory limit of a group that memoryGroup made.
func limitGroup(t *testing.T, group string, limit int) {
	t.Helper()
	h, err := memoryHierarchy()
	if err != nil {
		t.Fatal(err)
	}
	set(t, limitFile(h, group), strconv.Itoa(limit))
}
