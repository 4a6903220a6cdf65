// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Under the race detector every access costs the same.

package bulk

import (
	"math"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// F056: putting a batch in order and gathering what an engine needs to know is faster over a
// structure of arrays than over an array of structures. The shortest time of each step counts,
// since other programs run too, and there are more rounds as long as the claim does not hold.
func TestF056StructureOfArraysIsFaster(t *testing.T) {
	if testing.Short() {
		t.Skip("times are those of this processor, and an emulator's are not; -short is what runs there")
	}
	const many, fewest, most = 1 << 20, 5, 60
	b := repeated(mixed(t, somePages(1000), "lz4", "page", "zstd(level=1)"), many)
	items := structures(b)
	p := newPlanner(t, newCPU(t, "lz4", 1), Config{Items: many}, newSecond(t, "lz4", codec.LZ4))
	addresses, lengths, bases := make([]uint64, many), make([]uint32, many), []uint64{1 << 40, 2 << 40}
	steps := []struct {
		name           string
		arrays, others func()
	}{
		{"order", func() {
			clear(b.Verdict)
			p.order.sort(b, &p.classes[Decompress])
		}, func() { sortItems(&p.order, items, &p.classes[Decompress]) }},
		{"gather", func() { // in the order that was made
			for k, i := range p.order.items {
				addresses[k], lengths[k] = bases[b.Region[i]]+b.Offset[i], b.Length[i]
			}
		}, func() {
			for k, i := range p.order.items {
				addresses[k], lengths[k] = bases[items[i].region]+items[i].offset, items[i].length
			}
		}},
	}
	best := [2][2]time.Duration{{math.MaxInt64 / 2, math.MaxInt64 / 2}, {math.MaxInt64 / 2, math.MaxInt64 / 2}}
	slower := func() bool { return best[0][0]+best[1][0] >= best[0][1]+best[1][1] }
	for rounds := 0; rounds < fewest || rounds < most && slower(); rounds++ {
		for i, step := range steps {
			for k, f := range []func(){step.arrays, step.others} {
				start := time.Now()
				f()
				best[i][k] = min(best[i][k], time.Since(start))
			}
		}
	}
	for i, step := range steps {
		t.Logf("%s: %.2f ns an item, over an array of structures %.2f", step.name, float64(best[i][0])/many, float64(best[i][1])/many)
	}
	if slower() {
		t.Errorf("FALSIFIED: %v, over an array of structures %v", best[0][0]+best[1][0], best[0][1]+best[1][1])
	}
}
