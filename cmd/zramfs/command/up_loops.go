// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"math"
	stdslices "slices"
	"strings"
	"syscall"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/slots"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/cmd/zramfs/tune"
	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/loopsetup"
)

const (
	// maxDevices is the most loop devices of up: the kernel numbers swap areas with five bits
	// (MAX_SWAPFILES) and reserves some of the numbers; swapon fails when they run out.
	maxDevices = 32
	// maxDefault is the most areas by default, and defaultSlice the least average size, in bytes.
	// Each area adds a line to swapon(8).
	maxDefault   = 16
	defaultSlice = 32 << 20
	// sliceGrowth is an area's size over that of the one before. A freed page stays stored until
	// the kernel reuses its slot, at the latest when the area is full. So the area being filled
	// should be small compared with everything in use.
	sliceGrowth = 1.125
	// kernelAreas is the least number of swap areas that any kernel supports (MAX_SWAPFILES in
	// include/linux/swap.h with every option that reserves numbers).
	kernelAreas = 22
	// minSlice is the least size of a swap area: ten pages, as in mkswap(8).
	minSlice = 10 * pageSize
	// discardMax bounds one discard request. A loop device's worker serves requests in order, so a
	// discard delays every read behind it. A MiB of stored pages takes about 0.15 ms, so one
	// request takes less than a millisecond. The kernel discards freed swap in clusters of 2 MiB at
	// most; larger requests come from swapon with DiscardOnce or DiscardBoth, and from programs
	// such as blkdiscard.
	discardMax = 4 << 20
)

// defaultDevices returns the number of areas for a device of size bytes, whose first has that
// priority and each next one a priority lower by one. It leaves some of the kernel's area numbers
// to other swap.
func defaultDevices(size uint64, priority int) int {
	swaps, _ := loopsetup.Swaps() // without a table, no swap is on
	left := max(0, kernelAreas-len(swaps))
	return max(1, min(maxDefault, int((size-1)/defaultSlice), left*3/4, priority+1))
}

// slice is the part of the data file that one loop device shows, in bytes.
type slice struct{ offset, size uint64 }

// cut divides a data file of size bytes into n slices of whole pages, each larger than the one
// before it by sliceGrowth.
func cut(size uint64, n int) []slice {
	all := math.Pow(sliceGrowth, float64(n)) - 1
	end := func(i int) uint64 {
		share := (math.Pow(sliceGrowth, float64(i)) - 1) / all
		return uint64(float64(size)*share) / pageSize * pageSize
	}
	slices := make([]slice, n)
	for i := range slices {
		slices[i] = slice{end(i), end(i+1) - end(i)}
	}
	slices[n-1].size = size - slices[n-1].offset
	return slices
}

// attach puts a loop device on each slice.
func (u *upRun) attach() error {
	u.device.Dir = u.report.Dir
	u.undo = append(u.undo, func() error { return errors.Join(u.letGo(), u.device.WaitDetached()) })
	for _, s := range cut(u.report.Disksize, u.swap.devices) {
		cfg := &loopsetup.Config{Offset: s.offset, DiscardMax: discardMax}
		if u.swap.devices > 1 {
			cfg.SizeLimit = s.size
		}
		loop, err := loopsetup.Attach(u.device.Data(), cfg)
		if err != nil {
			return err
		}
		u.loops = append(u.loops, loop)
		if err := u.describe(loop); err != nil {
			return err
		}
	}
	return nil
}

// describe records an attached loop device and prints it.
func (u *upRun) describe(loop *loopsetup.Device) error {
	info, err := loopsetup.Inspect(loop.Path())
	if err != nil {
		return err
	}
	u.device.Loops = append(u.device.Loops, info)
	u.device.NoteLoops([]loopsetup.Info{info})
	words := []string{loop.Path(), "direct I/O", fmt.Sprintf("%d-byte blocks", info.BlockSize)}
	if u.swap.devices > 1 {
		words = stdslices.Insert(words, 1, term.Size(info.Size))
	}
	if err := printStep(u.out, "loop", "ok", strings.Join(words, ", ")); err != nil {
		return err
	}
	for _, w := range loop.Warnings() {
		if err := printStep(u.out, "loop", "warn", w.Error()); err != nil {
			return err
		}
	}
	return nil
}

func (u *upRun) format() error {
	for i, loop := range u.loops {
		uuid, err := loopsetup.FormatSwap(loop.File(), u.device.Loops[i].Size, swapLabel)
		if err != nil {
			return err
		}
		if err := printStep(u.out, "mkswap", "ok", "UUID "+uuid); err != nil {
			return err
		}
	}
	return nil
}

// keep lets the loop devices outlast their swap areas, if asked for.
func (u *upRun) keep() error {
	if !u.swap.keep {
		return nil
	}
	u.undo = append(u.undo, func() error {
		var all []error
		for _, loop := range u.device.Loops {
			all = append(all, loopsetup.Detach(loop.Path)) // once it is closed
		}
		return errors.Join(all...)
	})
	for _, loop := range u.loops {
		if err := loop.Keep(); err != nil {
			return err
		}
	}
	return nil
}

// note writes the record for other commands. Before that it restores the kernel parameters of ended
// devices, so that what they changed does not pass for what was there.
func (u *upRun) note() error {
	rec := &u.record
	*rec = devices.Record{Dir: u.report.Dir, Loops: u.device.Noted, Tune: u.swap.tune, Keeper: u.report.PID}
	if p, ok := host.Local.Process(rec.Keeper); ok {
		rec.Started = p.Start
	}
	var err error
	if rec.Mount, err = fusefs.MountNumber(rec.Dir); err != nil {
		return err
	}
	if err := forget(u.out, u.machine, devices.Device{Dir: rec.Dir}); err != nil {
		if err := printStep(u.out, "record", "warn", err.Error()); err != nil {
			return err
		}
	}
	u.undo = append(u.undo, func() error { return forget(u.out, u.machine, devices.Device{Dir: rec.Dir, Record: rec}) })
	if err := rec.Write(u.machine); err != nil {
		return printStep(u.out, "record", "warn",
			fmt.Sprintf("other commands may not find the loop devices when the serving process is dead: %v", err))
	}
	return nil
}

// hide takes the data file out of sight.
func (u *upRun) hide() error { return hideData(u.report.Dir, devices.LoopPaths(u.device.Loops)) }

// tune sets kernel parameters, if asked for.
func (u *upRun) tune() error {
	if u.swap.tune != tune.Recommended {
		return nil
	}
	defer devices.LockRecords(u.machine)()
	return applyTune(u.out, u.machine, tune.Settings(u.machine), &u.record)
}

// turnOff undoes turnOn for one area.
func (u *upRun) turnOff(dev string) error {
	err := loopsetup.SwapOff(dev)
	if err != nil {
		return fmt.Errorf("%w at %s: %w; the device is left as it is: zramfs down %s takes it away", errSwapStays, dev, err, u.report.Dir)
	}
	return nil
}

// turnOn turns the areas on, each at a lower priority than the one before: the kernel fills one
// before it takes a slot of the next.
func (u *upRun) turnOn() error {
	for i, loop := range u.loops {
		dev, priority := loop.Path(), u.swap.priority-i
		err := loopsetup.SwapOn(dev, priority, u.swap.discard)
		if i > 0 && errors.Is(err, syscall.EPERM) {
			err = fmt.Errorf("%w: the kernel may have no number left for another swap area: give fewer --devices", err)
		}
		if err != nil {
			return err
		}
		u.undo = append(u.undo, func() error { return u.turnOff(dev) })
		detail := fmt.Sprintf("priority %d, discard %s", priority, u.swap.discard)
		if u.swap.devices > 1 {
			detail = dev + ", " + detail
		}
		if err := printStep(u.out, "swap", "ok", detail); err != nil {
			return err
		}
	}
	return nil
}

// freeSlots starts the process that makes the kernel free slots. Swap works without it.
func (u *upRun) freeSlots() error {
	if u.swap.slots == slots.Free && u.cfg.Disksize < slots.MinDevice {
		return printStep(u.out, "slots", "warn", fmt.Sprintf("the kernel keeps the slots of pages that are in memory again: free them "+
			"with --size %s or more", term.Size(slots.MinDevice)))
	}
	if u.swap.slots == slots.Keep || u.cfg.Disksize < slots.MinDevice {
		return nil
	}
	if err := startSlots(u.machine, &u.record, u.swap.slots, u.report.PID, devices.LoopPaths(u.device.Loops)); err != nil {
		return printStep(u.out, "slots", "warn", fmt.Sprintf("the kernel keeps the slots of pages that are in memory again: %v", err))
	}
	u.undo = append(u.undo, func() error { return endSlots(devices.Device{Record: &u.record}.FindSlots()) })
	return printStep(u.out, "slots", "ok", string(u.swap.slots))
}

// letGo closes the loop devices: from now on the swap areas hold them, and the kernel detaches each
// with its area.
func (u *upRun) letGo() error {
	var all []error
	for _, loop := range u.loops {
		all = append(all, loop.Close())
	}
	u.loops = nil // an undo must not close them again
	return errors.Join(all...)
}
