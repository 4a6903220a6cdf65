// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Under the race detector a sync.Pool drops what it is given at random, so the zstd library's
// decoder allocates.

package command

import (
	"runtime/debug"
	"testing"
)

// What is under the clocks allocates nothing. The collector rests, as package zstd's comment
// explains.
func TestBenchLoopDoesNotAllocate(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := newRun(t, "adaptive,lz4,zstd(level=1)")
	for _, c := range r.contestants {
		pages := r.turns[0]
		for d := range directions {
			if n := testing.AllocsPerRun(5, func() { _ = c.all(d, pages) }); n != 0 {
				t.Errorf("%s: %v allocations for the pages of a turn", c.Name, n)
			}
			if n := testing.AllocsPerRun(5, func() { _ = r.each(c, d, pages) }); n != 0 {
				t.Errorf("%s: %v allocations for the pages of a turn, one by one", c.Name, n)
			}
		}
	}
}
