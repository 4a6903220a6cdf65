// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Under the race detector a sync.Pool drops what it is given at random, so the zstd library's
// decoder allocates.

package codec

import (
	"runtime/debug"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// A page costs no allocation there and back. The collector rests, as package zstd's comment
// explains.
func TestPagesAllocateNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	base := codectest.Generated()
	eachAlgorithm(t, fast(), func(t *testing.T, _ string, w *worker) {
		i := 0
		var failed error
		allocs := testing.AllocsPerRun(len(base), func() {
			if _, _, err := w.roundTrip(base[i%len(base)]); err != nil {
				failed = err
			}
			i++
		})
		if failed != nil {
			t.Fatal(failed)
		}
		if allocs != 0 {
			t.Errorf("%v allocations a page", allocs)
		}
	})
}

// Neither does a page between the ends of adaptive's levels, nor a change of level.
func TestAdaptiveAllocatesNothing(t *testing.T) {
	base := codectest.Generated()
	w := newWorker(t, "adaptive")
	a, ok := w.c.(Adjustable)
	if !ok {
		t.Fatal("adaptive is not adjustable")
	}
	i := 0
	if allocs := testing.AllocsPerRun(len(base), func() {
		a.SetEffort(i % (MaxEffort + 1))
		if _, _, err := w.roundTrip(base[i%len(base)]); err != nil {
			t.Error(err)
		}
		i++
	}); allocs != 0 {
		t.Errorf("%v allocations a page", allocs)
	}
}
