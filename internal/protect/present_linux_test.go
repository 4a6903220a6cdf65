// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"reflect"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// tables are so large that they come from the kernel without memory behind them.
type tables struct {
	words [1 << 20]struct{ low, high uint32 }
}

// touch writes to each page and returns how many page faults that takes.
func (s *tables) touch(t *testing.T) (faults int64) {
	t.Helper()
	var usage [2]unix.Rusage
	for i := range usage {
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage[i]); err != nil {
			t.Fatal(err)
		}
		for at := 0; i == 0 && at < len(s.words); at += pageSize / 8 {
			s.words[at].high = 1
		}
	}
	return usage[1].Minflt - usage[0].Minflt
}

// Memory becomes present wherever it is kept: behind a pointer, in a slice or an interface, behind
// something smaller at the same address, and waiting in a channel, as the zstd library keeps its
// tables. The channel holds the same as before, in the same order.
func TestMakePresent(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const most = 20 // faults of something else
	probe := new(tables)
	if faults := probe.touch(t); raceEnabled || faults < 10*most {
		t.Skipf("new memory takes %d faults here", faults)
	}
	start := uint64(reflect.ValueOf(probe).Pointer()) &^ (pageSize - 1)
	if err := populateRange(start, start+pageSize); err != nil {
		t.Skip(err)
	}
	var all [6]*tables
	for i := range all {
		all[i] = new(tables)
	}
	waiting := make(chan any, 2)
	waiting <- all[4]
	waiting <- all[5]
	MakePresent(struct {
		small   *uint32
		pointer *tables
		list    []*tables
		any     any
		behind  *struct{ waiting chan any }
	}{&all[0].words[0].low, all[0], all[1:2], []any{all[2], all[3]}, &struct{ waiting chan any }{waiting}})
	if len(waiting) != 2 || <-waiting != all[4] || <-waiting != all[5] {
		t.Error("something else waits in the channel")
	}
	for i, s := range all {
		if faults := s.touch(t); faults > most {
			t.Errorf("number %d: %d faults", i, faults)
		}
	}
}
