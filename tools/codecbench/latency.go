// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// latencyPages is how many pages are timed one by one, latencyRounds how often. The middle of a
// page's times counts, because another program may interrupt one of them, and that is no property
// of a codec.
const (
	latencyPages  = 2048
	latencyRounds = 5
)

// A latency is what one page takes in microseconds: the middle, and what one in a hundred exceeds.
type latency struct{ P50, P99 float64 }

// latencies times the pages of s one by one, compressed and decompressed.
func latencies(s sample, c *contestant) (pack, unpack latency, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := newBatch(min(latencyPages, len(s.pages)))
	b.load(s.pages, 0, max(1, len(s.pages)/latencyPages))
	var packs, unpacks [][]int64
	for range latencyRounds {
		times, err := packTimes(b, c)
		if err != nil {
			return pack, unpack, fmt.Errorf("%s: %w", c.name, err)
		}
		packs = append(packs, times)
		if times, err = unpackTimes(b, c); err != nil {
			return pack, unpack, fmt.Errorf("%s: %w", c.name, err)
		}
		unpacks = append(unpacks, times)
	}
	return percentiles(packs), percentiles(unpacks), nil
}

func packTimes(b *batch, c *contestant) ([]int64, error) {
	times := make([]int64, b.n)
	if c.packOne == nil {
		err := libCompress(b, times)
		return less(times, libClock()), err
	}
	if err := stopwatch(times, func(i int) error { return c.packOne(b, i) }); err != nil {
		return nil, err
	}
	if c.settle != nil {
		c.settle(b)
	}
	return less(times, clockCost()), nil
}

func unpackTimes(b *batch, c *contestant) ([]int64, error) {
	times := make([]int64, b.n)
	if c.unpackOne == nil {
		err := libDecompress(b, times)
		return less(times, libClock()), err
	}
	err := stopwatch(times, func(i int) error { return c.unpackOne(b, i) })
	return less(times, clockCost()), err
}

// stopwatch writes how many nanoseconds f(i) takes to times[i].
func stopwatch(times []int64, f func(i int) error) error {
	for i := range times {
		start := time.Now()
		err := f(i)
		times[i] = int64(time.Since(start))
		if err != nil {
			return fmt.Errorf("page %d: %w", i, err)
		}
	}
	return nil
}

// clockCost returns what two readings of the clock take, at least.
func clockCost() time.Duration {
	least := time.Hour
	for range 1000 {
		start := time.Now()
		least = min(least, time.Since(start))
	}
	return least
}

// less subtracts the clock's own time.
func less(times []int64, cost time.Duration) []int64 {
	for i := range times {
		times[i] = max(times[i]-int64(cost), 0)
	}
	return times
}

// percentiles takes the middle of each page's times and tells of these.
func percentiles(rounds [][]int64) latency {
	times := make([]int64, len(rounds[0]))
	one := make([]int64, len(rounds))
	for i := range times {
		for j, round := range rounds {
			one[j] = round[i]
		}
		slices.Sort(one)
		times[i] = one[len(one)/2]
	}
	slices.Sort(times)
	return latency{P50: float64(times[len(times)/2]) / 1e3, P99: float64(times[len(times)*99/100]) / 1e3}
}
