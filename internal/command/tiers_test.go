// SPDX-License-Identifier: Apache-2.0

package command

import "testing"

// F089: on machines of all tiers (full and high with 256 and 128 GiB of memory and a GPU, medium
// with 64 GiB, minimal with less) the device that up makes without --size fits: it takes half of
// memory at most, has room for a swap area, and needs no warning. The code of the processor and the
// engines of GPUs are matters of F086 and F087.
func TestF089SizeFollowsMemory(t *testing.T) {
	before := uint64(0)
	for _, ram := range []uint64{gib / 8, gib, 7 * gib, 32 * gib, 64 * gib, 128 * gib, 256 * gib} {
		size, err := parseSize("auto", ram)
		if err != nil {
			t.Fatal(err)
		}
		if size > ram/2+pageSize || size < before || checkSwapSize("auto", size) != nil {
			t.Errorf("with %d MiB of memory the device has %d MiB, with less memory %d", ram>>20, size>>20, before>>20)
		}
		if warnings := sizesBeyond(size, 0, ram); len(warnings) > 0 {
			t.Errorf("with %d MiB of memory up warns: %q", ram>>20, warnings)
		}
		before = size
	}
}
