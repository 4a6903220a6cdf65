// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
)

// addRates adds the rates between two answered samples of a device.
func (p *Point) addRates(before, now Sample) {
	p.Seconds = now.At.Sub(before.At).Seconds()
	if p.Seconds <= 0 {
		p.Seconds = 0
		return
	}
	old, io := before.Device.Status.IO, now.Device.Status.IO
	p.In = flow("read", before, now, since(old.Reads, io.Reads), p.Seconds)
	p.Out = flow("write", before, now, since(old.Writes, io.Writes), p.Seconds)
	p.Discards = float64(since(old.Discards, io.Discards)) / p.Seconds
	if used := now.Device.Status.CPUSeconds; used > 0 { // an older server does not tell it
		cpu := max(used-before.Device.Status.CPUSeconds, 0) / p.Seconds
		p.CPU = &cpu
	}
}

// flow returns the traffic of an operation between two samples. Servers of older versions count
// pages alone.
func flow(op string, before, now Sample, pages uint64, seconds float64) daemon.Flow {
	old, o := operation(before, op), operation(now, op)
	if o == nil {
		return daemon.Flow{Pages: float64(pages) / seconds}
	}
	if old == nil {
		old = new(daemon.OperationStatus)
	}
	return daemon.NewFlow(since(old.Pages, o.Pages), o.Buckets.Sub(old.Buckets), seconds)
}

// operation returns what is known of an operation; nil for nothing.
func operation(s Sample, op string) *daemon.OperationStatus {
	all := s.Device.Status.Operations
	if i := slices.IndexFunc(all, func(o daemon.OperationStatus) bool { return o.Op == op }); i >= 0 {
		return &all[i]
	}
	return nil
}

// since returns what a counter has counted. A counter that is lower than before has begun anew.
func since(before, now uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}
