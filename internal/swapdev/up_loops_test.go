// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"testing"

	"github.com/zramfs/zramfs/loopsetup"
)

// TestCut wants adjacent slices of whole pages up to the last byte, each an eighth larger than the
// one before.
func TestCut(t *testing.T) {
	for _, test := range []struct {
		size uint64
		n    int
	}{{8 * pageSize, 1}, {1000004 << 10, 3}, {1 << 30, 16}, {16 << 40, 2}, {16 << 40, MaxAreas}} {
		end := uint64(0)
		all := cut(test.size, test.n)
		for i, s := range all {
			if s.offset != end || s.offset%pageSize+s.size%pageSize != 0 {
				t.Errorf("%d in %d: %v follows on %d", test.size, test.n, s, end)
			}
			end += s.size
			if i == 0 {
				continue
			}
			if before := all[i-1].size; s.size+2*pageSize < before*9/8 || s.size > before*9/8+2*pageSize {
				t.Errorf("%d in %d: %d bytes after %d", test.size, test.n, s.size, before)
			}
		}
		if len(all) != test.n || end != test.size {
			t.Errorf("%d in %d: %v", test.size, test.n, all)
		}
	}
}

func TestDefaultAreas(t *testing.T) {
	swaps, err := loopsetup.Swaps()
	if err != nil {
		t.Fatal(err)
	}
	left := max(1, (kernelAreas-len(swaps))*3/4)
	const mib = 1 << 20
	for _, c := range []struct {
		size     uint64
		priority int
		want     int
	}{{32 * mib, 100, 1}, {64 * mib, 100, 1}, {256 * mib, 100, 7}, {4096 * mib, 100, MaxDefaultAreas}, {4096 * mib, 3, 4}, {4096 * mib, 0, 1}} {
		if got := DefaultAreas(c.size, c.priority, false); got != min(c.want, left) {
			t.Errorf("%d MiB at priority %d: %d areas, want %d", c.size/mib, c.priority, got, c.want)
		}
		if got := DefaultAreas(c.size, c.priority, true); got != 1 {
			t.Errorf("%d MiB behind zswap: %d areas, want 1", c.size/mib, got)
		}
	}
}
