// SPDX-License-Identifier: Apache-2.0

package latency

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Buckets follow each other without a gap, and none is wider than an eighth of its lower bound.
func TestBucketsCoverAllDurations(t *testing.T) {
	for i := range Buckets {
		if Upper(i) <= Lower(i) || Lower(i+1) != Upper(i) {
			t.Fatalf("bucket %d is %d to %d", i, Lower(i), Upper(i))
		}
		if i > 0 && Upper(i)-Lower(i) > Lower(i)/parts {
			t.Errorf("bucket %d is %d to %d: wider than an eighth", i, Lower(i), Upper(i))
		}
		if Index(Lower(i)) != i || Index(Upper(i)-1) != i {
			t.Errorf("the bounds of bucket %d, %d and %d, are in buckets %d and %d", i, Lower(i), Upper(i)-1, Index(Lower(i)), Index(Upper(i)-1))
		}
	}
	if Index(math.MaxUint64) != Buckets-1 || Index(0) != 0 {
		t.Errorf("0 is in bucket %d, the longest duration in %d", Index(0), Index(math.MaxUint64))
	}
}

// durations are n of a long-tailed distribution: most some microseconds, few milliseconds.
func durations(n int, seed uint64) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(math.Exp(rng.NormFloat64()*1.2 + math.Log(8000)))
	}
	return all
}

func histogramOf(all []uint64) Histogram {
	var counts [Buckets]uint64
	for _, ns := range all {
		counts[Index(ns)]++
	}
	return Of(counts[:])
}

// A quantile is that of the sorted durations, to a tenth.
func TestQuantileEqualsThatOfASort(t *testing.T) {
	all := durations(20_000, 7)
	h := histogramOf(all)
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
		want := float64(all[int(q*float64(len(all)))])
		if got := float64(h.Quantile(q)); math.Abs(got-want) > want/10 {
			t.Errorf("the quantile %g is %g, want %g to a tenth", q, got, want)
		}
	}
	if got := (Histogram{}).Quantile(0.5); got != 0 {
		t.Errorf("no durations have the median %v", got)
	}
	if top := h.Quantile(1); uint64(top) < all[len(all)-1] {
		t.Errorf("the quantile 1 is %v, below the longest duration %d", top, all[len(all)-1])
	}
}

// The histogram of an interval is the difference of the snapshots around it, and the sum of two is
// that of all their durations.
func TestSubAndAdd(t *testing.T) {
	first, second := durations(5000, 2), durations(3000, 3)
	a, b, both := histogramOf(first), histogramOf(second), histogramOf(slices.Concat(first, second))
	if got := both.Sub(a); !slices.Equal(got, b) {
		t.Errorf("the difference is %v, want %v", got, b)
	}
	if got := a.Add(b); !slices.Equal(got, both) {
		t.Errorf("the sum is %v, want %v", got, both)
	}
	if got := a.Sub(both); got.Count() != 0 {
		t.Errorf("a new device's counts less those of the old are %v, want none", got)
	}
	if both.Count() != 8000 {
		t.Errorf("%d durations, want 8000", both.Count())
	}
}

// Bounds of another layout do not break a quantile.
func TestQuantileOfUnknownBounds(t *testing.T) {
	if got := (Histogram{{1000, 4}}).Quantile(0.5); got != 500*time.Nanosecond {
		t.Errorf("the median is %v, want 500ns", got)
	}
}
