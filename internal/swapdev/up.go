// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/internal/zswap"
	"github.com/zramfs/zramfs/loopsetup"
)

const swapLabel = "zramfs"

// SwapConfig is what up adds to a device.
type SwapConfig struct {
	Priority int // of the first area; each next one has a priority lower by one
	Discard  loopsetup.Discard
	Devices  int // loop devices, and so swap areas
	Slots    ballast.Policy
	Tune     string // tune.Keep or tune.Recommended
	Zswap    zswap.Policy
	Keep     bool   // the device outlasts its swap areas
	Force    bool   // turn swap on even if that is not safe
	Section  string // the section by which the device was asked for; empty for none
}

// Up is one run of up. It is used by one goroutine.
type Up struct {
	Context context.Context // ended by a signal
	Out     *Narration
	Machine host.Root // has the records and the kernel parameters
	Config  zramfsd.Config
	Swap    SwapConfig
	// Tell says to a service manager that swap is on, with the PID of the main process and a line.
	Tell func(pid int, status string) error

	// Run sets these.
	Report *status.Report
	Device Device // Dir and the loop devices attached so far

	loops  []*loopsetup.Device // those held open
	record uprecord.Record
	undo   []func() error // for the finished steps, last first
}

// Run turns swap on on a new device.
func (u *Up) Run() error {
	return u.do(u.mount, u.checkSafety, u.attach, u.format, u.keep, u.note, u.hide, u.tune, u.turnOn, u.letGo, u.freeSlots, u.tellManager)
}

// do does the steps, and undoes them after an error or a signal.
func (u *Up) do(steps ...func() error) error {
	for _, step := range steps {
		err := u.Context.Err()
		if err != nil {
			err = imageio.ErrInterrupted
		} else {
			err = step()
		}
		if err != nil {
			return u.GiveUp(err)
		}
	}
	return nil
}

// GiveUp undoes the finished steps after err, and returns it.
func (u *Up) GiveUp(err error) error {
	undone := u.takeBack()
	switch {
	case undone == nil && errors.Is(err, imageio.ErrInterrupted):
		return fmt.Errorf("%w; everything was undone", err)
	case undone == nil && errors.Is(err, errUnsafe):
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	return errors.Join(err, undone)
}

// errSwapStays means that the pages in swap do not fit elsewhere now.
var errSwapStays = errors.New("swap stays on")

// takeBack undoes the steps. If swap stays on, it keeps what swap needs; zramfs down removes the
// rest later.
func (u *Up) takeBack() error {
	var all []error
	for _, undo := range slices.Backward(u.undo) {
		err := undo()
		if all = append(all, err); errors.Is(err, errSwapStays) {
			break
		}
	}
	return errors.Join(all...)
}

func (u *Up) mount() error {
	report, err := StartDevice(u.Config)
	if err != nil {
		return err
	}
	u.Report = report
	u.undo = append(u.undo, func() error { return StopDevice(report) })
	detail := fmt.Sprintf("%s, %s, %s", Device{Dir: report.Dir}.Data(), term.Size(report.Disksize), u.Config.Algorithm)
	if err := printStep(u.Out, "mount", "ok", detail); err != nil {
		return err
	}
	return PrintProtections(u.Out, report.Protections)
}

// tellManager says to a service manager that swap is on, and that the keeper is the main process.
func (u *Up) tellManager() error {
	return u.Tell(u.Report.PID, SwapStatus(u.Report.Disksize, LoopPaths(u.Device.Loops), u.Swap.Priority))
}

// SwapStatus is one line about swap that is on: size bytes in all on these loop devices, and the
// priority of the first.
func SwapStatus(size uint64, loops []string, priority int) string {
	return fmt.Sprintf("%s of swap at %s, priority %d", term.Size(size), AreaNames(loops), priority)
}

// errUnsafe means that an essential protection is missing.
var errUnsafe = errors.New("swap is not safe here")

// checkSafety refuses swap without the essential protections.
func (u *Up) checkSafety() error {
	missing := status.Blocking(u.Report.Protections)
	if len(missing) == 0 || u.Swap.Force {
		return nil
	}
	all := make([]string, len(missing))
	for i, p := range missing {
		all[i] = p.Detail
	}
	return fmt.Errorf("%w: %s. --force turns it on anyway", errUnsafe, strings.Join(all, "; "))
}
