// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
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
	if len(before.Serving) > 0 && len(now.Serving) > 0 {
		cpu := processorTime(before.Serving, now.Serving).Seconds() / p.Seconds
		p.CPU = &cpu
	}
}

// flow returns the traffic of an operation between two samples. Servers of older versions count
// pages alone.
func flow(op string, before, now Sample, pages uint64, seconds float64) Flow {
	old, o := operation(before, op), operation(now, op)
	if o == nil {
		return Flow{Pages: float64(pages) / seconds}
	}
	if old == nil {
		old = new(daemon.OperationStatus)
	}
	times := o.Buckets.Sub(old.Buckets)
	return Flow{
		Pages:    float64(since(old.Pages, o.Pages)) / seconds,
		Requests: float64(since(old.Requests, o.Requests)) / seconds,
		P50:      times.Quantile(0.5).Nanoseconds(),
		P99:      times.Quantile(0.99).Nanoseconds(),
	}
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

// processorTime is what the processes have taken since the sample before. All time of a process
// that was not in it counts; the last of one that has ended is unknown.
func processorTime(before, now []host.Process) (total time.Duration) {
	for _, p := range now {
		total += p.CPU
		for _, old := range before {
			if old.PID == p.PID && old.Start == p.Start {
				total -= old.CPU
			}
		}
	}
	return max(total, 0)
}
