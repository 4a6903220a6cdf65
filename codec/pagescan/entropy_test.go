// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"math"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// byDefinition is -sum(p*log2(p)).
func byDefinition(page []byte) float64 {
	var counts [256]int
	for _, v := range page {
		counts[v]++
	}
	var h float64
	for _, c := range counts {
		if c > 0 {
			p := float64(c) / float64(len(page))
			h -= p * math.Log2(p)
		}
	}
	return h
}

// cycle returns n bytes that take each of the given number of values in turn.
func cycle(values, n int) []byte {
	page := make([]byte, n)
	for i := range page {
		page[i] = byte(i % values)
	}
	return page
}

func TestEntropyOfKnownPages(t *testing.T) {
	for values, want := range map[int]float64{1: 0, 2: 1, 4: 2, 16: 4, 64: 6, 256: 8} {
		if got := Entropy(cycle(values, 4096)); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d equally frequent values: got %v, want %v", values, got, want)
		}
	}
	if got := Entropy(nil); got != 0 {
		t.Errorf("no bytes: got %v, want 0", got)
	}
	if got := Entropy(cycle(1, 1)); got != 0 {
		t.Errorf("one byte: got %v, want 0", got)
	}
}

func TestEntropyAgreesWithDefinition(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		for i, page := range base {
			for _, part := range [][]byte{page, page[:i%len(page)+1]} {
				if got, want := Entropy(part), byDefinition(part); math.Abs(got-want) > 1e-9 {
					t.Fatalf("page %d, %d bytes: got %v, want %v", i, len(part), got, want)
				}
			}
		}
	})
}

// Counts beyond a page's are computed, not looked up.
func TestEntropyOfMoreThanAPage(t *testing.T) {
	long := append(cycle(1, 10_000), cycle(256, 1000)...)
	if got, want := Entropy(long), byDefinition(long); math.Abs(got-want) > 1e-9 {
		t.Errorf("got %v, want %v", got, want)
	}
}
