// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/loopsetup"
)

// callsSwapSize is a device without the process that frees slots, and with one area.
const callsSwapSize = "64M"

// TestSwapCallsOfUp fails the calls of up, of the keeper and of its worker: swap is on, or an error
// says why not and nothing else is left.
func TestSwapCallsOfUp(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	l := callLoop{name: "up", once: func(t *testing.T, arm armed) failing { return upOnce(t, s, arm) }}
	l.run(t)
}

func upOnce(t *testing.T, s *supervising, arm armed) failing {
	t.Helper()
	dir := swapDir(t)
	a := s.run(t, &arm, "up", "--size", callsSwapSize, dir)
	wantClear(t, a)
	if a.Result.Code == 0 {
		areas, err := loopsetup.Swaps() // swapOn finds none where up could not note its loop device
		said := strings.Fields(a.Result.Stdout)
		if !slices.ContainsFunc(areas, func(s loopsetup.Swap) bool { return slices.Contains(said, s.Path+",") }) {
			t.Errorf("swap is on: %+v, %v, and up says: %s", areas, err, a.Result.Stdout)
		}
		mustRun(t, downTimeout, "down", dir)
	}
	wantSwapGone(t, dir, a.Failing)
	return a.Failing
}

// TestSwapCallsUpIsUndone keeps up from starting processes once it has a loop device: the keeper
// ends the device, though the kernel tells it late that the loop device has closed the data file.
func TestSwapCallsUpIsUndone(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	for n := 2; n <= 5; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			f := upOnce(t, s, armed{N: n, Again: true, Roles: []string{"up"}, Calls: []string{"clone"}})
			if t.Failed() {
				t.Logf("after %s, %d times of %d", f.What, f.Failed, f.Count)
			}
		})
	}
}

// TestSwapCallsOfDown fails the calls of down and of the processes of the device, with pages in
// swap: swap is off and all is gone, or an error says why not, and another down ends the rest. No
// page is lost.
func TestSwapCallsOfDown(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	m := startMemory(t, memoryOrder{Pages: 8 << 20 / memoryPage, Source: sourceMix})
	m.do(t, "fill")
	l := callLoop{name: "down", once: func(t *testing.T, arm armed) failing {
		dir := swapDir(t)
		s.mustRun(t, "up", "--size", callsSwapSize, dir)
		m.do(t, "pageout")
		a := s.run(t, &arm, "down", dir)
		wantClear(t, a)
		if a.Result.Code != 0 {
			mustRun(t, downTimeout, "down", "--force", dir)
		}
		m.do(t, "walk")
		wantSwapGone(t, dir, a.Failing)
		return a.Failing
	}}
	l.run(t)
	m.end(t)
}

// wantSwapGone is wantNothingLeft for a device that may be about to end: a second down finds it
// unmounted.
func wantSwapGone(t *testing.T, dir string, f failing) {
	t.Helper()
	for end := time.Now().Add(leakPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		left, err := leftovers(root)
		_, serr := os.Lstat(dir)
		if err == nil && len(left) == 0 && (excused(f) || errors.Is(serr, fs.ErrNotExist)) {
			break
		}
	}
	if excused(f) {
		_ = os.Remove(dir) // which fails where there is a mount
	}
	wantNothingLeft(t, dir)
}
