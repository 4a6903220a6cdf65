// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/loopsetup"
)

// The time at the loop device is of this device's requests alone: up notes those before, and where
// it did not, more requests than the device has served tell that there were some.
func TestSplits(t *testing.T) {
	d := Device{
		Loops:  []loopsetup.Info{{Path: "/dev/loop0", Sequence: 7}, {Path: "/dev/loop1", Sequence: 8}},
		Block:  host.BlockTimes{Reads: 5100, ReadTime: 60*time.Second + 4*time.Millisecond, Writes: 10, WriteTime: time.Millisecond},
		Status: &status.Status{Operations: []status.Operation{{Op: "read", Requests: 100, SecondsTotal: 0.001}, {Op: "write", Requests: 10, SecondsTotal: 0.0005}}},
	}
	if read, write := d.Splits(); read != (Split{}) || write != (Split{Loop: 100_000, Device: 50_000}) {
		t.Errorf("with reads of another file: %+v, %+v", read, write)
	}
	d.Noted = []uprecord.Loop{{Path: "/dev/loop0", Sequence: 7, Before: host.BlockTimes{Reads: 5000, ReadTime: time.Minute}}}
	read, _ := d.Splits()
	if share, known := read.Share(); read != (Split{Loop: 40_000, Device: 10_000}) || share != 0.25 || !known {
		t.Errorf("with what was noted: %+v, %v", read, share)
	}
	d.NoteLoops(d.Loops)
	if again, _ := d.Splits(); again != read {
		t.Errorf("noted again: %+v", again)
	}
	d.NoteLoops([]loopsetup.Info{{Path: "/dev/loop0", Sequence: 9}})
	if other, _ := d.Splits(); other != (Split{}) {
		t.Errorf("of another attachment: %+v", other)
	}
	if share, known := (Split{Loop: 10, Device: 20}).Share(); share != 1 || !known {
		t.Errorf("a share of %v", share)
	}
	if _, known := (Split{}).Share(); known {
		t.Error("a share of nothing")
	}
}
