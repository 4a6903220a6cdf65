// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector pads and keeps what is allocated.

package codec

import (
	"runtime"
	"testing"
)

// heapOf returns the bytes of heap that each of a few values from create holds.
func heapOf(t *testing.T, create func() (any, error)) int {
	t.Helper()
	live := func() int {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	values := make([]any, 8)
	before := live()
	for i := range values {
		var err error
		if values[i], err = create(); err != nil {
			t.Fatal(err)
		}
	}
	bytes := (live() - before) / len(values)
	runtime.KeepAlive(values)
	return bytes
}

// The figures are the package comment's, in KiB: all of it is locked in memory.
func TestMemoryIsAsStated(t *testing.T) {
	newWorker(t, "raw") // makes what is made once a process
	for name, stated := range map[string]int{"lz4": 8, "lz4:fast": 8, "page": 32, "page:dense": 56, "adaptive": 97, "adaptive:entropy": 1712,
		"zstd(level=1)": 340, "zstd": 1364, "zstd(level=6)": 4380} {
		a, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		got := heapOf(t, func() (any, error) { return a.NewCompressor() }) >> 10
		if got > stated*11/10+1 || got < stated*9/10 {
			t.Errorf("%s: %d KiB, stated are %d", name, got, stated)
		}
	}
	if got := heapOf(t, func() (any, error) { return NewDecompressor() }) >> 10; got < 82*9/10 || got > 82*11/10 {
		t.Errorf("decompressor: %d KiB, stated are 82", got)
	}
	if got := heapOf(t, func() (any, error) { return Algorithm{}.NewClusterDecompressor() }) >> 10; got < 216*9/10 || got > 216*11/10 {
		t.Errorf("cluster decompressor: %d KiB, stated are 216", got)
	}
}
