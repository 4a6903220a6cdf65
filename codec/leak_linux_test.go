// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector keeps memory of its own.

package codec

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// holding counts what a process can leak: resident bytes, goroutines and open descriptors.
func holding(t *testing.T) (resident, goroutines, descriptors int) {
	t.Helper()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize(), runtime.NumGoroutine(), len(open)
}

func TestF019NothingLeaks(t *testing.T) {
	base := codectest.Generated()
	var workers []*worker
	for _, name := range fast() {
		workers = append(workers, newWorker(t, name))
	}
	pass := func(rounds int) {
		for i := range rounds {
			if _, _, err := workers[i%len(workers)].roundTrip(base[i%len(base)]); err != nil {
				t.Fatal(err)
			}
		}
	}
	pass(2 * len(base))
	before, goroutines, descriptors := holding(t)
	pass(codectest.Rounds())
	after, goroutinesAfter, descriptorsAfter := holding(t)
	// The runtime keeps a little more or less from one moment to the next; one byte leaked a page
	// would be a mebibyte here.
	if after > before+4<<20 {
		t.Errorf("%d KiB more are resident after %d pages", (after-before)>>10, codectest.Rounds())
	}
	if goroutinesAfter > goroutines || descriptorsAfter > descriptors {
		t.Errorf("%d goroutines and %d descriptors, and %d and %d before", goroutinesAfter, descriptorsAfter, goroutines, descriptors)
	}
}
