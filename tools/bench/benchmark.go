// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
)

// A benchmark measures every workload on every device. It belongs to one
// goroutine.
type benchmark struct {
	opts     options
	pool     *pool
	devices  []*device
	progress io.Writer // one line a step

	size int64 // bytes used of every device
	// figures holds, by workload and device, one figure a round.
	figures [][][]figure
	// filled and ended hold each device's memory after the fill and after the last
	// round; nil where a device does not tell.
	filled, ended []*memoryUse
	// wakeUps holds what a wake-up cost at the start of each round.
	wakeUps wakeUps
}

// errNotReal means that a device did not hold real pages, which makes its figures
// worthless.
var errNotReal = errors.New("the device does not hold what was meant to be measured")

// run fills the devices and measures. Devices take turns within a workload, so that
// whatever slows the machine slows all, and in the opposite order every other round,
// so that none always follows the same one.
func (b *benchmark) run(ctx context.Context) error {
	// A job's thread stays in the kernel with its processor taken, so there must
	// be more processors than jobs.
	runtime.GOMAXPROCS(runtime.NumCPU() + 4)
	if err := b.fill(ctx); err != nil {
		return err
	}
	works := workloads()
	b.figures = make([][][]figure, len(works))
	for i := range works {
		b.figures[i] = make([][]figure, len(b.devices))
	}
	for round := range b.opts.rounds {
		if err := b.wakeUps.measure(); err != nil {
			return err
		}
		for i, work := range works {
			for _, d := range turns(len(b.devices), round) {
				device := b.devices[d]
				fmt.Fprintf(b.progress, "round %d of %d: %s on %s\n", round+1, b.opts.rounds, work, device.name)
				one, err := b.measure(ctx, device, work, uint64(round))
				if err != nil {
					return err
				}
				b.figures[i][d] = append(b.figures[i][d], one)
			}
		}
	}
	var err error
	b.ended, err = b.memory()
	return err
}

// turns returns the order of count participants in a round.
func turns(count, round int) []int {
	order := make([]int, count)
	for i := range order {
		order[i] = i
	}
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// fill writes real pages over all devices, as far as the smallest reaches.
func (b *benchmark) fill(ctx context.Context) error {
	b.size = b.opts.size
	for _, device := range b.devices {
		size, err := sizeOf(device.path)
		if err != nil {
			return err
		}
		b.size = min(b.size, size&^(mebibyte-1))
	}
	if b.size < minSize {
		return fmt.Errorf("fill: the devices have %d bytes, want at least %d", b.size, minSize)
	}
	for _, device := range b.devices {
		fmt.Fprintf(b.progress, "filling %s with %d MiB of real pages\n", device.name, b.size>>20)
		if err := fill(ctx, device.path, b.size, b.pool); err != nil {
			return err
		}
	}
	var err error
	b.filled, err = b.memory()
	return err
}

func (b *benchmark) memory() ([]*memoryUse, error) {
	all := make([]*memoryUse, len(b.devices))
	for i, device := range b.devices {
		var err error
		if all[i], err = readMemory(device); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// measure runs one workload on one device. The load's processor time is ours and
// that of the fio that we start, which ends before it is counted.
func (b *benchmark) measure(ctx context.Context, device *device, work workload, seed uint64) (figure, error) {
	server := party{server: device.server}
	before, err := server.count()
	if err != nil {
		return figure{}, err
	}
	own := ownTime()
	var one figure
	if work.write {
		one, err = writeLoad(ctx, device.path, b.size, work, b.pool, b.opts.runtime, seed)
	} else {
		one, err = readLoad(ctx, device.path, b.size, work, b.opts.runtime)
	}
	if err != nil {
		return figure{}, err
	}
	own = ownTime() - own
	after, err := server.count()
	one.Spent = after.since(before)
	one.Spent.Load = own.Seconds()
	one.CPU = one.Spent.own() / (one.Bytes * b.opts.runtime.Seconds() / gibibyte)
	return one, err
}

// The tolerance of the ratio of stored data. The kernel's LZ4 and ours differ by a few per cent on
// the same pages, and a run overwrites only part of a device, with pages chosen at random. An
// algorithm that adapts to the load packs the same page by up to a fifth tighter at one time than
// at another.
const (
	fillTolerance  = 0.10
	runTolerance   = 0.05
	adaptTolerance = 0.25
)

// checkData reports a device whose data were not the real pages.
func (b *benchmark) checkData() error {
	var failed []error
	for i, device := range b.devices {
		if b.filled[i] == nil {
			continue
		}
		after, end := b.filled[i].ratio(), b.ended[i].ratio()
		if device.name == zramName && math.Abs(after/b.pool.lz4-1) > fillTolerance {
			failed = append(failed, fmt.Errorf("check %s: %w: ratio %.2f, LZ4 makes %.2f of the pages", device.name, errNotReal, after, b.pool.lz4))
		}
		tolerance := runTolerance
		if strings.Contains(device.what, "adaptive") {
			tolerance = adaptTolerance
		}
		if math.Abs(end/after-1) > tolerance {
			failed = append(failed, fmt.Errorf("check %s: %w: ratio %.2f after the fill, %.2f at the end", device.name, errNotReal, after, end))
		}
	}
	return errors.Join(failed...)
}
