// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"math"
	stdslices "slices"
	"strings"
	"syscall"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/tune"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/internal/zswap"
	"github.com/zramfs/zramfs/loopsetup"
)

// pageSize is the size of a page in bytes.
const pageSize = 4096

const (
	// MaxAreas is the most loop devices of up: the kernel numbers swap areas with five bits
	// (MAX_SWAPFILES) and reserves some of the numbers; swapon fails when they run out.
	MaxAreas = 32
	// MaxDefaultAreas is the most areas by default, and defaultSlice the least average size, in
	// bytes. Each area adds a line to swapon(8).
	MaxDefaultAreas = 16
	defaultSlice    = 32 << 20
	// sliceGrowth is an area's size over that of the one before. A freed page stays stored until
	// the kernel reuses its slot, at the latest when the area is full. So the area being filled
	// should be small compared with everything in use.
	sliceGrowth = 1.125
	// kernelAreas is the least number of swap areas that any kernel supports (MAX_SWAPFILES in
	// include/linux/swap.h with every option that reserves numbers).
	kernelAreas = 22
	// MinArea is the least size of a swap area: ten pages, as in mkswap(8).
	MinArea = 10 * pageSize
	// discardMax bounds one discard request. A loop device's worker serves requests in order, so a
	// discard delays every read behind it. A MiB of stored pages takes about 0.15 ms, so one
	// request takes less than a millisecond. The kernel discards freed swap in clusters of 2 MiB at
	// most; larger requests come from swapon with DiscardOnce or DiscardBoth, and from programs
	// such as blkdiscard.
	discardMax = 4 << 20
)

// DefaultAreas returns the number of areas for a device of size bytes, whose first has that
// priority and each next one a priority lower by one: one where zswap is in front, since the device
// then has few pages that programs free, and searching for a slot in areas that are nearly full
// makes a fault half as long again. Others leave some of the kernel's area numbers to other swap.
func DefaultAreas(size uint64, priority int, zswap bool) int {
	if zswap {
		return 1
	}
	swaps, _ := loopsetup.Swaps() // without a table, no swap is on
	left := max(0, kernelAreas-len(swaps))
	return max(1, min(MaxDefaultAreas, int((size-1)/defaultSlice), left*3/4, priority+1))
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

// FirstArea returns the size in bytes of the first of n areas, the smallest, of a device of size
// bytes.
func FirstArea(size uint64, n int) uint64 { return cut(size, n)[0].size }

// attach puts a loop device on each slice.
func (u *Up) attach() error {
	u.Device.Dir = u.Report.Dir
	u.undo = append(u.undo, func() error { return errors.Join(u.letGo(), u.Device.WaitDetached()) })
	var cfgs []*loopsetup.Config
	for _, s := range cut(u.Report.Disksize, u.Swap.Devices) {
		cfg := &loopsetup.Config{Offset: s.offset, DiscardMax: discardMax}
		if u.Swap.Devices > 1 {
			cfg.SizeLimit = s.size
		}
		cfgs = append(cfgs, cfg)
	}
	loops, err := loopsetup.AttachAll(u.Device.Data(), cfgs)
	if err != nil {
		return err
	}
	u.loops = loops
	for _, loop := range loops {
		if err := u.describe(loop); err != nil {
			return err
		}
	}
	return nil
}

// describe records an attached loop device and prints it.
func (u *Up) describe(loop *loopsetup.Device) error {
	info, err := loopsetup.Inspect(loop.Path())
	if err != nil {
		return err
	}
	u.Device.Loops = append(u.Device.Loops, info)
	u.Device.NoteNew(info)
	words := []string{loop.Path(), "direct I/O", fmt.Sprintf("%d-byte blocks", info.BlockSize)}
	if u.Swap.Devices > 1 {
		words = stdslices.Insert(words, 1, term.Size(info.Size))
	}
	if err := printStep(u.Out, "loop", "ok", strings.Join(words, ", ")); err != nil {
		return err
	}
	for _, w := range loop.Warnings() {
		if err := printStep(u.Out, "loop", "warn", w.Error()); err != nil {
			return err
		}
	}
	return nil
}

func (u *Up) format() error {
	for i, loop := range u.loops {
		uuid, err := loopsetup.FormatSwap(loop.File(), u.Device.Loops[i].Size, swapLabel)
		if err != nil {
			return err
		}
		if err := printStep(u.Out, "mkswap", "ok", "UUID "+uuid); err != nil {
			return err
		}
	}
	return nil
}

// keep lets the loop devices outlast their swap areas, if asked for.
func (u *Up) keep() error {
	if !u.Swap.Keep {
		return nil
	}
	u.undo = append(u.undo, func() error {
		var all []error
		for _, loop := range u.Device.Loops {
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
func (u *Up) note() error {
	rec := &u.record
	*rec = uprecord.Record{Dir: u.Report.Dir, Loops: u.Device.Noted, Tune: u.Swap.Tune, Zswap: u.Swap.Zswap.String(), Keeper: u.Report.PID,
		Discard: string(u.Swap.Discard), Section: u.Swap.Section}
	if p, ok := host.Local.Process(rec.Keeper); ok {
		rec.Started = p.Start
	}
	var err error
	if rec.Mount, err = fusefs.MountNumber(rec.Dir); err != nil {
		return err
	}
	if err := Forget(u.Out, u.Machine, Device{Dir: rec.Dir}); err != nil {
		if err := printStep(u.Out, "record", "warn", err.Error()); err != nil {
			return err
		}
	}
	u.undo = append(u.undo, func() error { return Forget(u.Out, u.Machine, Device{Dir: rec.Dir, Record: rec}) })
	if err := rec.Write(u.Machine); err != nil {
		return printStep(u.Out, "record", "warn",
			fmt.Sprintf("other commands may not find the loop devices when the serving process is dead: %v", err))
	}
	return nil
}

// hide takes the data file out of sight.
func (u *Up) hide() error { return hideData(u.Report.Dir, LoopPaths(u.Device.Loops)) }

// tune sets kernel parameters, if asked for, those of zswap among them.
func (u *Up) tune() error {
	defer uprecord.Lock(u.Machine)()
	settings := zswapSettings(u.Machine, u.Swap.Zswap)
	if u.Swap.Tune == tune.Recommended {
		settings = append(settings, stdslices.DeleteFunc(tune.Settings(u.Machine), func(s tune.Setting) bool {
			return stdslices.ContainsFunc(settings, func(z tune.Setting) bool { return z.Parameter == s.Parameter })
		})...)
	}
	if len(settings) == 0 {
		return nil
	}
	if err := applyTune(u.Out, u.Machine, settings, &u.record); err != nil {
		return err
	}
	if u.Swap.Zswap.Mode == zswap.On && !zswap.Running(u.Machine) {
		return fmt.Errorf("%w: the kernel does not turn it on", zswap.ErrUnfit)
	}
	return nil
}

// turnOff undoes turnOn for one area.
func (u *Up) turnOff(dev string) error {
	err := loopsetup.SwapOff(dev)
	if err != nil {
		return fmt.Errorf("%w at %s: %w; the device is left as it is: zramfs down %s takes it away", errSwapStays, dev, err, term.ShellWord(u.Report.Dir))
	}
	return nil
}

// turnOn turns the areas on, each at a lower priority than the one before: the kernel fills one
// before it takes a slot of the next.
func (u *Up) turnOn() error {
	for i, loop := range u.loops {
		dev, priority := loop.Path(), u.Swap.Priority-i
		err := loopsetup.SwapOn(dev, priority, u.Swap.Discard)
		if i > 0 && errors.Is(err, syscall.EPERM) {
			err = fmt.Errorf("%w: the kernel may have no number left for another swap area: give fewer --devices", err)
		}
		if err != nil {
			return err
		}
		u.undo = append(u.undo, func() error { return u.turnOff(dev) })
		detail := fmt.Sprintf("priority %d, discard %s", priority, u.Swap.Discard)
		if u.Swap.Devices > 1 {
			detail = dev + ", " + detail
		}
		if err := printStep(u.Out, "swap", "ok", detail); err != nil {
			return err
		}
	}
	return nil
}

// freeSlots starts the process that makes the kernel free slots. Swap works without it.
func (u *Up) freeSlots() error {
	if u.Swap.Slots == ballast.Free && u.Config.Disksize < ballast.MinDevice {
		return printStep(u.Out, "slots", "warn", fmt.Sprintf("the kernel keeps the slots of pages that are in memory again: free them "+
			"with --size %s or more", term.Size(ballast.MinDevice)))
	}
	if u.Swap.Slots == ballast.Keep || u.Config.Disksize < ballast.MinDevice {
		return nil
	}
	if err := startSlots(u.Machine, &u.record, u.Swap.Slots, u.Report.PID, LoopPaths(u.Device.Loops)); err != nil {
		return printStep(u.Out, "slots", "warn", fmt.Sprintf("the kernel keeps the slots of pages that are in memory again: %v", err))
	}
	u.undo = append(u.undo, func() error { return endSlots(Device{Record: &u.record}.FindSlots()) })
	return printStep(u.Out, "slots", "ok", string(u.Swap.Slots))
}

// letGo closes the loop devices: from now on the swap areas hold them, and the kernel detaches each
// with its area.
func (u *Up) letGo() error {
	var all []error
	for _, loop := range u.loops {
		all = append(all, loop.Close())
	}
	u.loops = nil // an undo must not close them again
	return errors.Join(all...)
}
