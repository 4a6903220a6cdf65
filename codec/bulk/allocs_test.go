// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Under the race detector a sync.Pool drops what it is given at random, so the zstd library's
// decoder allocates.

package bulk

import (
	"runtime/debug"
	"testing"

	"github.com/zramfs/zramfs/codec"
)

// A batch, and so a page, costs no allocation on any engine. The collector rests, as package zstd's
// comment explains.
func TestBatchesAllocateNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const n = 2000
	all := somePages(n)
	for name, mode := range map[string]Mode{"shared": Shared, "CPU alone": CPUAlone, "engines alone": EnginesAlone} {
		for op := range ops {
			t.Run(name+" "+op.String(), func(t *testing.T) {
				e := newSecond(t, "lz4", codec.LZ4)
				p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: mode, Items: n}, e)
				b := mixed(t, all, "lz4", "page:dense", "zstd(level=1)")
				if op == Compress {
					b = NewBatch(op, n)
					b.Pages = all
				}
				b.Op = op
				b.Hash = make([]uint64, n)
				var r Report
				if allocs := testing.AllocsPerRun(10, func() {
					if err := p.Run(t.Context(), b, &r); err != nil {
						t.Error(err)
					}
				}); allocs >= 1 {
					t.Errorf("%v allocations a batch", allocs)
				}
			})
		}
	}
}
