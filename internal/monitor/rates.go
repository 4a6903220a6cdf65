// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"slices"
	"time"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// addRates adds the rates between two answered samples of a device.
func (p *Point) addRates(before, now Sample) {
	p.Seconds = now.At.Sub(before.At).Seconds()
	if p.Seconds <= 0 {
		p.Seconds = 0
		return
	}
	old, io := before.Device.Status.IO, now.Device.Status.IO
	p.In = flow("read", before, now, p.Seconds)
	p.Out = flow("write", before, now, p.Seconds)
	block := now.Device.Block.Since(before.Device.Block)
	p.ReadTime = split("read", before, now, block.Reads, block.ReadTime)
	p.WriteTime = split("write", before, now, block.Writes, block.WriteTime)
	p.Discards = float64(since(old.Discards, io.Discards)) / p.Seconds
	oldZswap, zswap := before.Device.SwapUse.Zswap, now.Device.SwapUse.Zswap
	p.ZswapIn = float64(since(oldZswap.Loads, zswap.Loads)) / p.Seconds
	p.ZswapBack = float64(since(oldZswap.WrittenBack, zswap.WrittenBack)) / p.Seconds
	cpu := max(now.Device.Status.CPUSeconds-before.Device.Status.CPUSeconds, 0) / p.Seconds
	p.CPU = &cpu
}

// flow returns the traffic of an operation between two samples.
func flow(op string, before, now Sample, seconds float64) status.Flow {
	old, o := operation(before, op), operation(now, op)
	return status.NewFlow(since(old.Pages, o.Pages), o.Buckets.Sub(old.Buckets), seconds)
}

// split divides the time of an operation's requests between two samples; requests and took are the
// loop devices' counters. It is unknown without a request, as on a file without a loop device, and
// where a loop device was attached or detached.
func split(op string, before, now Sample, requests uint64, took time.Duration) swapdev.Split {
	old, o := operation(before, op), operation(now, op)
	if !sameLoops(before, now) {
		return swapdev.Split{}
	}
	return swapdev.NewSplit(requests, took, since(old.Requests, o.Requests), o.SecondsTotal-old.SecondsTotal)
}

func sameLoops(before, now Sample) bool {
	return slices.Equal(swapdev.LoopPaths(before.Device.Loops), swapdev.LoopPaths(now.Device.Loops))
}

// operation returns what was counted of an operation.
func operation(s Sample, op string) (o status.Operation) {
	for _, o = range s.Device.Status.Operations {
		if o.Op == op {
			return o
		}
	}
	return status.Operation{}
}

// since returns what a counter has counted. A counter that is lower than before has begun anew.
func since(before, now uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}
