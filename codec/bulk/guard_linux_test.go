// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// A hash reads nothing outside its data.
func TestF014HashBetweenGuardPages(t *testing.T) {
	eachHash(t, func(t *testing.T, hash hashFunc) {
		for _, n := range []int{1, 511, 512, 513, 1000, 1500, 4095, 4096} {
			atEnd, atStart := codectest.Guarded(t, n)
			if want := slowHash(atEnd); hash(atEnd) != want || hash(atStart) != want {
				t.Errorf("%d zero bytes: %x and %x, want %x", n, hash(atEnd), hash(atStart), want)
			}
		}
	})
}
