// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// steadyTime is how long TestReadsWithoutAPause watches.
	steadyTime = 3 * time.Second
	// steadyGap is less than a pause for a look, and much more than the time between two reads.
	steadyGap = 4 * lookPause / 5
	// steadyGaps is how many a busy machine may show.
	steadyGaps = 1
)

// While pages are swapped, and a moment longer, the statistics of a group at its limit are read all
// the time: one of 8 MiB has no inactive pages left after a twentieth of a second.
func TestReadsWithoutAPause(t *testing.T) {
	root := machine(t, map[string][2]uint64{".": {1 << 62, 9 << 20}, "full": {8 << 20, 8 << 20}})
	vmstat, err := os.Create(root.Path("proc", "vmstat"))
	if err != nil {
		t.Fatal(err)
	}
	defer vmstat.Close()
	swap := func(pages int) {
		if _, err := vmstat.WriteAt(fmt.Appendf(nil, "nr_free_pages 1\npswpin %012d\npswpout 4000\n", pages), 0); err != nil {
			t.Error(err)
		}
	}
	swap(0)
	reads := accesses(t, root.Path("/sys/fs/cgroup/memory/full/memory.stat"))
	end, ended := make(chan struct{}), make(chan error)
	go func() { ended <- Follow(root, end) }()
	const step = 50 * time.Millisecond
	pages, gaps, n := 0, 0, 0
	var last time.Time
	for stop := time.After(steadyTime); stop != nil; {
		select {
		case <-stop:
			stop = nil
		case at := <-reads:
			if !last.IsZero() && at.Sub(last) > steadyGap {
				gaps++
			}
			last, n = at, n+1
		case <-time.After(step):
		}
		// For the last second nothing is swapped.
		if pages < 1000*int((steadyTime-readOn/2)/step) {
			pages += 1000
			swap(pages)
		}
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if gaps > steadyGaps || n < 100 {
		t.Errorf("%d reads in %s, %d times with more than %s between two", n, steadyTime, gaps, steadyGap)
	}
}

// accesses returns the times at which a file is read.
func accesses(t *testing.T, path string) <-chan time.Time {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { _ = events.Close() })
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_ACCESS); err != nil {
		t.Fatal(err)
	}
	times := make(chan time.Time, 1<<12)
	go func() {
		var text [4096]byte
		for {
			if _, err := events.Read(text[:]); err != nil {
				return // closed at the end of the test
			}
			times <- time.Now()
		}
	}()
	return times
}

func TestPauseFor(t *testing.T) {
	for _, test := range []struct {
		limits []uint64
		want   time.Duration
	}{
		{nil, readPause}, {[]uint64{1 << 40}, readPause}, {[]uint64{64 << 20}, readPause}, {[]uint64{1 << 30, 16 << 20}, readPause / 4},
		{[]uint64{1 << 20, 1 << 30}, leastPause},
	} {
		var near []cgroup
		for _, limit := range test.limits {
			near = append(near, cgroup{limit: limit})
		}
		if got := pauseFor(near); got != test.want {
			t.Errorf("groups of %d bytes: %s, want %s", test.limits, got, test.want)
		}
	}
}

// The pause counts what reads take of a processor, not what they wait for one.
func TestProcessorTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := processorTime()
	time.Sleep(50 * time.Millisecond)
	if used := processorTime() - before; used < 0 || used > 40*time.Millisecond {
		t.Errorf("sleeping takes %s of a processor", used)
	}
}
