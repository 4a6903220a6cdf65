// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A percentile is that of the sorted latencies, or above it by at most a 64th.
func TestPercentiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	one, other := &histogram{}, &histogram{}
	var all []time.Duration
	for i := range 100_000 {
		latency := time.Duration(math.Exp(rng.NormFloat64()*2 + 10))
		all = append(all, latency)
		[]*histogram{one, other}[i%2].add(latency)
	}
	one.merge(other)
	slices.Sort(all)
	for _, share := range []float64{0, 0.01, 0.5, 0.99, 0.999, 1} {
		want := all[max(int(share*float64(len(all))+0.5)-1, 0)]
		got := one.percentile(share)
		if got < want || float64(got) > float64(want)*(1+1.0/64)+1 {
			t.Errorf("percentile %g is %d ns, want %d and at most a 64th more", share, got, want)
		}
	}
}

// Every value lies in its bucket, and the buckets follow one another without a gap.
func TestBuckets(t *testing.T) {
	for bucket := 1; bucket < buckets; bucket++ {
		first, last := upperEnd(bucket-1)+1, upperEnd(bucket)
		if bucketOf(first) != bucket || bucketOf(last) != bucket {
			t.Fatalf("bucket %d is from %d to %d, which lie in %d and %d", bucket, first, last, bucketOf(first), bucketOf(last))
		}
	}
	if upperEnd(buckets-1) != math.MaxUint64 {
		t.Errorf("the last bucket ends at %d", upperEnd(buckets-1))
	}
}

func TestEmptyAndNegative(t *testing.T) {
	h := &histogram{}
	if got := h.percentile(0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
	h.add(-time.Second)
	if got := h.percentile(0.5); got != 0 {
		t.Errorf("the median of a clock that went back is %v", got)
	}
}

// The measured path allocates nothing: a collection would show in the latencies.
func TestHistogramAllocatesNothing(t *testing.T) {
	h := &histogram{}
	if allocs := testing.AllocsPerRun(1000, func() { h.add(12345) }); allocs != 0 {
		t.Errorf("%v allocations a latency", allocs)
	}
}
