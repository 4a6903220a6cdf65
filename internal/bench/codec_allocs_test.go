// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Under the race detector sync.Pool drops items at random, so the decoder of the zstd library
// allocates.

package bench

import (
	"runtime/debug"
	"testing"
)

// The timed code allocates nothing. The collector is off, since it empties the pool of the zstd
// library.
func TestCodecLoopDoesNotAllocate(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := newRun(t, "adaptive", "lz4", "zstd(level=1)")
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
