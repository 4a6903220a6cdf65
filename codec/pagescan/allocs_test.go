// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"testing"

	"zramfs/codec/internal/codectest"
)

func TestScansAllocateNothing(t *testing.T) {
	base := codectest.Generated()
	i := 0
	allocs := testing.AllocsPerRun(1000, func() {
		SameFilled(base[i%len(base)])
		Entropy(base[i%len(base)])
		Scan(base[i%len(base)])
		i++
	})
	if allocs != 0 {
		t.Errorf("%v allocations a page", allocs)
	}
}
