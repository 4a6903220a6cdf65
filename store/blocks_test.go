// SPDX-License-Identifier: Apache-2.0

package store

import "testing"

func TestBlocks(t *testing.T) {
	for _, end := range []uint64{1, 63, 64, 65, 200} {
		var b blocks
		b.init(end)
		seen := map[uint64]bool{}
		for {
			first, n := b.take(7)
			if n == 0 {
				break
			}
			for at := first; at < first+uint64(n); at++ {
				if seen[at] || at >= end {
					t.Fatalf("block %d of %d is taken twice, or is none", at, end)
				}
				seen[at] = true
			}
		}
		if uint64(len(seen)) != end || b.used != end {
			t.Errorf("%d blocks of %d were taken, %d counted", len(seen), end, b.used)
		}
		b.release(end / 2)
		b.release(end / 2)
		b.release(end)
		if first, n := b.take(7); first != end/2 || n != 1 || b.adopt(first) || b.adopt(end) {
			t.Errorf("of %d: %d blocks at %d", end, n, first)
		}
	}
}
