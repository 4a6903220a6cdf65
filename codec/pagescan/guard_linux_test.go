// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"testing"

	"zramfs/codec/internal/codectest"
)

// The scans read nothing outside the page.
func TestF014ScanBetweenGuardPages(t *testing.T) {
	for _, n := range []int{8, 64, 72, 4088, 4096} {
		atEnd, atStart := codectest.Guarded(t, n)
		for _, page := range [][]byte{atEnd, atStart} {
			if word, ok := SameFilled(page); !ok || word != 0 {
				t.Errorf("%d zero bytes: got %#x, %v", n, word, ok)
			}
			if h := Entropy(page); h != 0 {
				t.Errorf("%d zero bytes: entropy %v", n, h)
			}
		}
	}
}
