// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector pads and keeps what is allocated.

package zstd

import (
	"runtime"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
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

// The figures are the package comment's, in KiB. A library that takes a tenth more has to be
// noticed: all of it is locked in memory.
func TestMemoryIsAsStated(t *testing.T) {
	if _, err := NewDecoder(); err != nil { // makes what is made once a process
		t.Fatal(err)
	}
	dict := trained(t, codectest.Generated()[:500])
	for what, c := range map[string]struct {
		stated int
		create func() (any, error)
	}{
		"encoder 1":             {340, func() (any, error) { return NewEncoder(1) }},
		"encoder 3":             {1364, func() (any, error) { return NewEncoder(3) }},
		"encoder 6":             {4380, func() (any, error) { return NewEncoder(6) }},
		"encoder 19":            {35_035, func() (any, error) { return NewEncoder(19) }},
		"dictionary encoder 1":  {813, func() (any, error) { return NewDictionaryEncoder(1, dict) }},
		"dictionary encoder 3":  {2861, func() (any, error) { return NewDictionaryEncoder(3, dict) }},
		"dictionary encoder 6":  {8621, func() (any, error) { return NewDictionaryEncoder(6, dict) }},
		"dictionary encoder 19": {69_933, func() (any, error) { return NewDictionaryEncoder(19, dict) }},
		"decoder":               {50, func() (any, error) { return NewDecoder() }},
		"dictionary decoder":    {108, func() (any, error) { return NewDictionaryDecoder(dict) }},
	} {
		t.Run(what, func(t *testing.T) {
			got := held(t, 4, c.create) >> 10
			if got > c.stated*11/10 || got < c.stated*9/10 {
				t.Errorf("%d KiB, stated are %d", got, c.stated)
			}
			t.Logf("%d KiB", got)
		})
	}
}
