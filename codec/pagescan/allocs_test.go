// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

func TestScansAllocateNothing(t *testing.T) {
	base := codectest.Generated()
	c := NewChooser(1400, 900)
	i := 0
	allocs := testing.AllocsPerRun(1000, func() {
		SameFilled(base[i%len(base)])
		Entropy(base[i%len(base)])
		c.Learn(c.Choose(Scan(base[i%len(base)]), i%Levels), i%PageSize)
		i++
	})
	if allocs != 0 {
		t.Errorf("%v allocations a page", allocs)
	}
}
