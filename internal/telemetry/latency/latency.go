// SPDX-License-Identifier: Apache-2.0

// Package latency has histograms of durations: counts in buckets whose width grows with the
// duration, so that a quantile is right to a tenth wherever it lies. A histogram only grows, so the
// difference of two snapshots is the histogram of the time between them.
package latency

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

const (
	// lowest is the binary logarithm of the first bucket's upper bound, 256 ns.
	lowest = 8
	// powers is the number of powers of two above it that are divided into parts: up to 17 s.
	powers = 26
	// parts is the number of buckets of a power of two.
	parts = 8

	// Buckets is the number of buckets: one below 256 ns, and the last one also has what takes 17 s
	// or longer.
	Buckets = 1 + powers*parts
)

// Index returns the bucket of a duration in nanoseconds, from 0 to Buckets - 1. It allocates
// nothing.
func Index(ns uint64) int {
	if ns < 1<<lowest {
		return 0
	}
	power := bits.Len64(ns) - 1
	if power >= lowest+powers {
		return Buckets - 1
	}
	part := int(ns>>(power-3)) & (parts - 1) // 1<<3 is parts
	return 1 + (power-lowest)*parts + part
}

// Lower returns the least duration of bucket i in nanoseconds.
func Lower(i int) uint64 {
	if i <= 0 {
		return 0
	}
	power, part := lowest+(i-1)/parts, (i-1)%parts
	return 1<<power + uint64(part)<<(power-3)
}

// Upper returns the bound of bucket i in nanoseconds: its durations are shorter. The last bucket
// has longer ones as well.
func Upper(i int) uint64 { return Lower(i + 1) }

// A Bucket is an upper bound in nanoseconds and the count of durations below it that are in no
// lower bucket.
type Bucket [2]uint64

// A Histogram is the buckets with a count, the shortest durations first. Its zero value is empty.
// It is a plain value: no method changes it.
type Histogram []Bucket

// Of returns the histogram of counts by Index.
func Of(counts []uint64) Histogram {
	h := Histogram{}
	for i, n := range counts {
		if n > 0 {
			h = append(h, Bucket{Upper(i), n})
		}
	}
	return h
}

// Count returns the number of durations.
func (h Histogram) Count() uint64 {
	var n uint64
	for _, b := range h {
		n += b[1]
	}
	return n
}

// Add returns the durations of both histograms.
func (h Histogram) Add(other Histogram) Histogram {
	return h.merge(other, func(mine, others uint64) uint64 { return mine + others })
}

// Sub returns the durations that came after an earlier snapshot of the histogram. Where the earlier
// one has more in a bucket, as after the device was made anew, the bucket is empty.
func (h Histogram) Sub(earlier Histogram) Histogram {
	return h.merge(earlier, func(mine, others uint64) uint64 { return mine - min(mine, others) })
}

// merge combines the counts of buckets with one bound.
func (h Histogram) merge(other Histogram, combine func(mine, others uint64) uint64) Histogram {
	var all Histogram
	for i, j := 0, 0; i < len(h) || j < len(other); {
		b := Bucket{}
		switch {
		case j == len(other) || i < len(h) && h[i][0] < other[j][0]:
			b = Bucket{h[i][0], combine(h[i][1], 0)}
			i++
		case i == len(h) || other[j][0] < h[i][0]:
			b = Bucket{other[j][0], combine(0, other[j][1])}
			j++
		default:
			b = Bucket{h[i][0], combine(h[i][1], other[j][1])}
			i, j = i+1, j+1
		}
		if b[1] > 0 {
			all = append(all, b)
		}
	}
	return all
}

// Quantile returns the duration that a part q of all, from 0 to 1, does not exceed: 0.99 for p99.
// It takes the durations of a bucket as evenly spread. It is 0 where there are none.
func (h Histogram) Quantile(q float64) time.Duration {
	total := h.Count()
	if total == 0 {
		return 0
	}
	rank := min(max(q, 0), 1) * float64(total)
	below := 0.0
	for _, b := range h {
		if n := float64(b[1]); below+n >= rank {
			low := lowerOf(b[0])
			return time.Duration(float64(low) + float64(b[0]-low)*(rank-below)/n)
		}
		below += float64(b[1])
	}
	return time.Duration(h[len(h)-1][0])
}

// lowerOf returns the lower bound of the bucket with an upper one; 0 for one that no bucket has.
func lowerOf(upper uint64) uint64 {
	i, ok := slices.BinarySearchFunc(bounds[:], upper, cmp.Compare[uint64])
	if !ok {
		return 0
	}
	return Lower(i)
}

// bounds are the upper bounds of all buckets.
var bounds = func() (all [Buckets]uint64) {
	for i := range all {
		all[i] = Upper(i)
	}
	return all
}()
