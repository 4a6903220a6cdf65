// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector pads and keeps what is allocated.

package zstd

import (
	"fmt"
	"runtime"
	"testing"
)

// heap returns the bytes of live objects.
func heap() int {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// held returns the bytes that each of n values from create holds on average.
func held(t *testing.T, n int, create func() (any, error)) int {
	t.Helper()
	values := make([]any, n)
	before := heap()
	for i := range values {
		var err error
		if values[i], err = create(); err != nil {
			t.Fatal(err)
		}
	}
	bytes := (heap() - before) / n
	runtime.KeepAlive(values)
	return bytes
}

// The figures are the package comment's, in KiB. A library that takes a tenth more has to be noticed: all of it is locked in
// memory.
func TestMemoryIsAsStated(t *testing.T) {
	if _, err := NewDecoder(); err != nil { // makes what is made once a process
		t.Fatal(err)
	}
	for level, stated := range map[int]int{1: 340, 3: 1364, 6: 4380, 19: 35_035} {
		t.Run(fmt.Sprint("encoder", level), func(t *testing.T) {
			got := held(t, 3, func() (any, error) { return NewEncoder(level) }) >> 10
			if got > stated*11/10 || got < stated*9/10 {
				t.Errorf("%d KiB, stated are %d", got, stated)
			}
			t.Logf("%d KiB", got)
		})
	}
	t.Run("decoder", func(t *testing.T) {
		const stated = 107
		got := held(t, 8, func() (any, error) { return NewDecoder() }) >> 10
		if got > stated*11/10 || got < stated*9/10 {
			t.Errorf("%d KiB, stated are %d", got, stated)
		}
		t.Logf("%d KiB", got)
	})
}
