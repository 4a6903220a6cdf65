// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
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

func TestF014RepeatsBetweenGuardPages(t *testing.T) {
	eachRepeats(t, func(t *testing.T, repeats repeatsFunc) {
		for _, n := range []int{8, 24, 32, 40, 64, 72, 96, 248, 256, 264, 512, 520, 1000, 4088, 4096} {
			atEnd, atStart := codectest.Guarded(t, n)
			for _, page := range [][]byte{atEnd, atStart} {
				if !repeats(page, 0) {
					t.Errorf("%d zero bytes: got false", n)
				}
			}
		}
	})
}

func TestF014CountBetweenGuardPages(t *testing.T) {
	eachCount(t, func(t *testing.T, count countFunc) {
		page, _ := codectest.Guarded(t, PageSize)
		want := Features{Zero: Sampled, Same24: Sampled, Same16: Sampled}
		if got := split(count(page)); got != want {
			t.Errorf("zeros: got %+v, want %+v", got, want)
		}
	})
}
