// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// A Split divides the mean time of a request at the loop device, in nanoseconds; both are 0 where
// they are unknown.
type Split struct {
	// Loop is the time at the loop device: the kernel's way to the serving process and back is in
	// it. For a page fault it is all but the fault handler.
	Loop int64 `json:"loop_ns"`
	// Device is the part of it in the serving process.
	Device int64 `json:"device_ns"`
}

// NewSplit divides the time of requests that took some time together at the loop devices, and
// seconds in the serving process, which counted them as served.
func NewSplit(requests uint64, took time.Duration, served uint64, seconds float64) Split {
	if requests == 0 || served == 0 || took <= 0 {
		return Split{}
	}
	return Split{Loop: int64(took) / int64(requests), Device: int64(seconds * 1e9 / float64(served))}
}

// Share is the device's part of the time, at most 1; false where it is unknown.
func (s Split) Share() (float64, bool) {
	if s.Loop == 0 {
		return 0, false
	}
	return min(1, float64(s.Device)/float64(s.Loop)), true
}

// Splits divides the times of all reads and writes since the device was made. They are unknown
// where the loop devices have counted over a tenth more than the device: they were attached to
// other files before, and not by up, which notes that.
func (d Device) Splits() (read, write Split) {
	if d.Status == nil {
		return Split{}, Split{}
	}
	block := d.Block.Since(d.before())
	of := func(o status.Operation, requests uint64, took time.Duration) Split {
		if requests > o.Requests+o.Requests/10 {
			return Split{}
		}
		return NewSplit(requests, took, o.Requests, o.SecondsTotal)
	}
	for _, o := range d.Status.Operations {
		switch o.Op {
		case "read":
			read = of(o, block.Reads, block.ReadTime)
		case "write":
			write = of(o, block.Writes, block.WriteTime)
		}
	}
	return read, write
}

// before are the requests of Loops from before they were attached, as far as they were noted.
func (d Device) before() (b host.BlockTimes) {
	for _, l := range d.Loops {
		for _, n := range d.Noted {
			if n.Path == l.Path && n.Sequence == l.Sequence {
				b = b.Plus(n.Before)
			}
		}
	}
	return b
}
