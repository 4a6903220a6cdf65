// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zramfs/loopsetup"
)

const (
	// maxDevices is as many loop devices as up attaches: the kernel numbers swap areas by five bits (MAX_SWAPFILES), and
	// keeps some of the numbers for other ends: swapon says so.
	maxDevices = 32
	// minSlice is the least that a swap area may have: ten pages, as mkswap(8) wants.
	minSlice = 10 * pageSize
	// discardMax bounds one discard request. A loop device's worker serves its requests in the order in which they come and waits for
	// a discard, and nobody can read a page from there meanwhile. A MiB of stored pages takes about 0.15 ms, so that one request holds
	// the worker for less than a millisecond. The kernel discards freed swap in clusters of 2 MiB at most; larger requests come from
	// swapon with DiscardOnce or DiscardBoth, and from programs such as blkdiscard.
	discardMax = 4 << 20
)

// slice is the part of the data file that one loop device shows, in bytes.
type slice struct{ offset, size uint64 }

// cut divides a data file of size bytes into n slices of whole pages, equal but for the last, which has the rest.
func cut(size uint64, n int) []slice {
	each := size / uint64(n) / pageSize * pageSize
	slices := make([]slice, n)
	for i := range slices {
		slices[i] = slice{uint64(i) * each, each}
	}
	slices[n-1].size = size - slices[n-1].offset
	return slices
}

// attach puts a loop device on each slice.
func (u *upRun) attach() error {
	u.device.Dir = u.report.Dir
	u.undo = append(u.undo, func() error { return errors.Join(u.letGo(), u.device.waitDetached()) })
	for _, s := range cut(u.report.Disksize, u.swap.devices) {
		cfg := &loopsetup.Config{Offset: s.offset, DiscardMax: discardMax}
		if u.swap.devices > 1 {
			cfg.SizeLimit = s.size
		}
		loop, err := loopsetup.Attach(u.device.data(), cfg)
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

// describe notes an attached loop device and prints what it is.
func (u *upRun) describe(loop *loopsetup.Device) error {
	info, err := loopsetup.Inspect(loop.Path())
	if err != nil {
		return err
	}
	u.device.Loops = append(u.device.Loops, info)
	u.device.noteLoops([]loopsetup.Info{info})
	words := []string{loop.Path(), "direct I/O", fmt.Sprintf("%d-byte blocks", info.BlockSize)}
	if u.swap.devices > 1 {
		words = slices.Insert(words, 1, humanSize(info.Size))
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

// note writes the record for down. What an earlier device on the same DIR has left in it about kernel parameters stays there.
func (u *upRun) note() error {
	u.record = record{Dir: u.report.Dir, Loops: u.device.noted}
	if before, err := readRecord(u.machine, u.record.Dir); err == nil {
		u.record.Sysctls = before.Sysctls
	}
	u.undo = append(u.undo, func() error { return forget(u.out, u.machine, u.record.Dir, u.others) })
	if err := u.record.write(u.machine); err != nil {
		return printStep(u.out, "record", "warn",
			fmt.Sprintf("down may not find the loop devices when the serving process is dead: %v", err))
	}
	return nil
}

// hide takes the data file out of sight.
func (u *upRun) hide() error { return hideData(u.report.Dir, loopPaths(u.device.Loops)) }

// tune sets kernel parameters, where that was asked for.
func (u *upRun) tune() error {
	if u.swap.sysctl != sysctlRecommended {
		return nil
	}
	defer lockRecords(u.machine)()
	return tuneSysctls(u.out, u.machine, &u.record)
}

// turnOff undoes turnOn for one area.
func (u *upRun) turnOff(dev string) error {
	err := loopsetup.SwapOff(dev)
	if err != nil {
		return fmt.Errorf("%w at %s: %w; the device is left as it is: zramfs down %s takes it away", errSwapStays, dev, err, u.report.Dir)
	}
	return nil
}

// turnOn turns on all areas at the same priority: the kernel then takes them in turn.
func (u *upRun) turnOn() error {
	for _, loop := range u.loops {
		dev := loop.Path()
		if err := loopsetup.SwapOn(dev, u.swap.priority, u.swap.discard); err != nil {
			return err
		}
		u.undo = append(u.undo, func() error { return u.turnOff(dev) })
		detail := fmt.Sprintf("priority %d, discard %s", u.swap.priority, u.swap.discard)
		if u.swap.devices > 1 {
			detail = dev + ", " + detail
		}
		if err := printStep(u.out, "swap", "ok", detail); err != nil {
			return err
		}
	}
	return nil
}

// letGo closes the loop devices: the swap areas hold them from now on, and with the end of each the kernel detaches its own.
func (u *upRun) letGo() error {
	var all []error
	for _, loop := range u.loops {
		all = append(all, loop.Close())
	}
	u.loops = nil // so that an undo does not close them again
	return errors.Join(all...)
}
