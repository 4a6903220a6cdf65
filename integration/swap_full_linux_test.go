// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"
)

const (
	// fullLimit is the memory limit of the device, and fullSize what is sent there
	// of pages that nothing compresses.
	fullLimit = 64 << 20
	fullSize  = 192 << 20
)

// A device at its memory limit loses nothing: the kernel keeps the pages that it
// could not write. No control group is involved, since the kernel would have to
// kill a process in it that has nowhere to go; the pages are sent to swap on
// request, and there is room for those that stay.
func TestSwapFullKeepsPages(t *testing.T) {
	m := startMemory(t, memoryOrder{Pages: fullSize / memoryPage, Source: sourceRandom})
	m.do(t, "fill")
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "512M", "--mem-limit", "64M", dir)
	m.do(t, "pageout") // the kernel may still be writing
	within(t, answerTimeout, "writes fail", func() bool { return statusOf(t, dir).IO.FailedWrites > 0 })
	s := statusOf(t, dir)
	if s.IO.FailedWrites == 0 || s.Memory.MemUsedMax > fullLimit || s.Memory.OrigDataSize == 0 {
		t.Errorf("the device is not full: %+v, %+v", s.IO, s.Memory)
	}
	if r := run(t, commandTimeout, "status", dir); r.Code != 1 || !strings.Contains(r.Stdout, "writes failed") {
		t.Errorf("status: exit code %d:\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	t.Logf("%d pages stored, %d writes refused", s.Memory.PagesStored, s.IO.FailedWrites)
	m.do(t, "walk")
	m.do(t, "pageout") // again, with pages that are still in the device and some that are not
	m.do(t, "random")
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	m.do(t, "walk")
}

// A device whose writes stall loses nothing either, and stops nothing: pages that were swapped out
// are read while others wait to be. A higher limit ends the wait.
func TestSwapFullStalls(t *testing.T) {
	m := startMemory(t, memoryOrder{Pages: fullSize / 2 / memoryPage, Source: sourceRandom})
	m.do(t, "fill")
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "512M", "--mem-limit", "64M", "--on-full", "stall", dir)
	m.do(t, "pageout")
	within(t, answerTimeout, "writes beyond those that may wait fail", func() bool { return statusOf(t, dir).IO.FailedWrites > 0 })
	m.do(t, "walk")
	mustRun(t, commandTimeout, "set", dir, "mem-limit=1G")
	within(t, answerTimeout, "writes have waited", func() bool { return statusOf(t, dir).Stalls.Requests > 0 })
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	m.do(t, "walk")
}
