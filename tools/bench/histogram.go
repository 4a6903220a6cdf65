// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/bits"
	"time"
)

// A histogram counts latencies in buckets whose width is at most a 64th of their
// value, as fio's do. It has a fixed size, so that counting allocates nothing. It
// belongs to one goroutine.
type histogram struct {
	counts [buckets]uint64
	total  uint64
}

const (
	// linearBits is the number of leading bits that a bucket keeps: values below
	// 2^linearBits ns have a bucket each.
	linearBits = 7
	halfRow    = 1 << (linearBits - 1)
	buckets    = (64 - linearBits + 2) * halfRow
)

// add counts one latency; a negative one counts as zero.
func (h *histogram) add(latency time.Duration) {
	h.counts[bucketOf(uint64(max(latency, 0)))]++
	h.total++
}

// merge adds the counts of another histogram.
func (h *histogram) merge(other *histogram) {
	for i, count := range other.counts {
		h.counts[i] += count
	}
	h.total += other.total
}

// percentile returns the latency that this share (0 to 1) of all requests did not
// exceed, to the upper end of its bucket; 0 when nothing was counted.
func (h *histogram) percentile(share float64) time.Duration {
	want := uint64(share*float64(h.total) + 0.5)
	seen := uint64(0)
	for i, count := range h.counts {
		seen += count
		if count > 0 && seen >= want {
			return time.Duration(upperEnd(i))
		}
	}
	return 0
}

// bucketOf returns the bucket of a value: row by its highest bit, column by the
// bits below.
func bucketOf(value uint64) int {
	shift := max(bits.Len64(value)-linearBits, 0)
	return shift*halfRow + int(value>>shift)
}

// upperEnd returns the largest value in a bucket.
func upperEnd(bucket int) uint64 {
	shift := max(bucket/halfRow-1, 0)
	first := uint64(bucket-shift*halfRow) << shift
	return first + 1<<shift - 1
}
