// SPDX-License-Identifier: Apache-2.0

package imaging

import (
	"io"
	"testing"
)

// recordedSteps records the sums that were shown.
type recordedSteps struct{ sums []uint64 }

func (s *recordedSteps) Add(more uint64) error {
	if n := len(s.sums); n > 0 {
		more += s.sums[n-1]
	}
	s.sums = append(s.sums, more)
	return nil
}

func (s *recordedSteps) End() error { return nil }

// A slowDisk records the parts that were synced.
type slowDisk struct {
	io.WriterAt
	started, settled int64 // bytes
}

func (d *slowDisk) startSync(begin, length int64) error {
	d.started = max(d.started, begin+length)
	return nil
}

func (d *slowDisk) sync(begin, length int64) error {
	d.settled = max(d.settled, begin+length)
	return nil
}

// Export's bar counts a page once it is on the disk, not once it is in the kernel's cache, so it is
// full only at the end.
func TestExportProgress(t *testing.T) {
	const window, windows = 1024, 5
	var shown recordedSteps
	disk, e := &slowDisk{}, Exporter{Progress: &shown}
	for i := range int64(windows) {
		if err := e.settle(disk, i*window*pageSize, window*pageSize, window); err != nil {
			t.Fatal(err)
		}
		bar := int64(shown.sums[i])
		if bar*pageSize != disk.settled || disk.started != (i+1)*window*pageSize || bar != i*window {
			t.Errorf("window %d: the bar shows %d pages, %d bytes are on the disk", i, bar, disk.settled)
		}
	}
	if e.pending != window {
		t.Errorf("%d pages are left to show at the end", e.pending)
	}
}
