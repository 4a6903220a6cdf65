// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/loopsetup"
)

// fit compares what is in swap with the room elsewhere. Sizes are in bytes.
type fit struct {
	used      uint64 // in the areas to turn off
	available uint64 // memory that the kernel says it can give without swapping
	otherFree uint64 // free in swap areas that do not lie in memory themselves
}

// margin is the memory to leave for other programs: the more comes back, the longer it takes and
// the more they allocate in that time.
func (f fit) margin() uint64 { return 32<<20 + f.used/16 }

// need is the memory for bringing everything back. The device frees memory only afterwards, so that
// does not count.
func (f fit) need() uint64 {
	if f.used == 0 {
		return 0
	}
	return f.used + f.margin()
}

func (f fit) ok() bool { return f.need() == 0 || f.need() < f.available+f.otherFree }

// String returns the sizes in words.
func (f fit) String() string {
	return fmt.Sprintf("%s in swap (%s with a margin), %s of memory available, %s free in other swap",
		term.Size(f.used), term.Size(f.need()), term.Size(f.available), term.Size(f.otherFree))
}

// checkReturn refuses pages of devices that do not fit or cannot be read. It waits until they fit
// for as long as --wait says, and has what it found at last in all.
func (r *Down) checkReturn(all []Device) error {
	served := func() error {
		if err := lookAgain(all); err != nil {
			return err
		}
		for _, d := range all {
			if err := checkServed(d); err != nil {
				return err
			}
		}
		return nil
	}
	return r.untilFits(served, func() error {
		areas, err := swapAreas(all...)
		if err != nil {
			return err
		}
		return r.checkFit(all[0], areas)
	})
}

// untilFits waits until fits returns no error. An error of served ends the wait, unless a device
// that has answered before does not: it may be slow to while memory is short.
func (r *Down) untilFits(served, fits func() error) error {
	for first := true; ; first = false {
		err := served()
		if err != nil && (first || !errors.Is(err, helper.ErrNoAnswer)) {
			return err
		}
		if err == nil {
			err = fits()
		}
		if err == nil || !time.Now().Before(r.Until) {
			return err
		}
		time.Sleep(min(waitPause, time.Until(r.Until)))
	}
}

// lookAgain replaces devices by what there is of them now: while down waited, one may have died, or
// made way for another on its DIR, which may hold data. One that has ended stays as it was.
func lookAgain(all []Device) error {
	for i, d := range all {
		name := d.Dir
		if d.Elsewhere { // there may be a device here on the same DIR
			name = d.Name()
		}
		now, err := FindOne(name)
		switch {
		case errors.Is(err, ErrNotRunning), err == nil && d.Elsewhere && !now.Elsewhere:
		case err != nil:
			return err
		case now.Keeper != d.Keeper && now.Keeper != 0 && d.Keeper != 0:
			return fmt.Errorf("%s has ended, and another device is there now", d.Title())
		default:
			all[i] = now
		}
	}
	return nil
}

// checkServed refuses pages of a device that nothing serves.
func checkServed(d Device) error {
	areas, err := swapAreas(d)
	used := UsedIn(areas)
	switch {
	case err != nil:
		return err
	case errors.Is(d.Err, ErrDead) && used > 0:
		p := DiagnoseDead(d)
		return fmt.Errorf("%s: %s; processes that touch those pages are killed; %s turns it off anyway", d.Title(), p.What, p.Fix)
	case errors.Is(d.Err, helper.ErrNoAnswer):
		if err := MayUnmount(d); err != nil || used > 0 {
			return errors.Join(err, d.Err)
		}
	}
	return nil
}

// waitPause is the time between two checks of a wait for memory.
const waitPause = time.Second

// checkFit refuses to bring back more than fits of the device d and further ones.
func (r *Down) checkFit(d Device, areas []loopsetup.Swap) error {
	f, err := measureFit(areas, d.SwapUse.Slots.Ballast)
	if err != nil || f.used == 0 {
		return err
	}
	if !f.ok() {
		return fmt.Errorf("%s does not fit into memory: %s; end some programs first, wait (--wait 60), or use --force", d.Title(), f)
	}
	if err := checkGroups(r.Out, host.Local, f); err != nil {
		return fmt.Errorf("%s: %w", d.Title(), err)
	}
	return printStep(r.Out, "fit", "ok", f.String())
}

// measureFit reads the sizes. The ballast ends before swap is turned off, so it does not count. Nor
// does free space in zram and in other devices of ours, which lies in the same memory.
func measureFit(areas []loopsetup.Swap, ballast uint64) (fit, error) {
	f := fit{used: UsedIn(areas) - min(ballast, UsedIn(areas))}
	if f.used == 0 {
		return f, nil
	}
	var err error
	if f.available, err = memAvailable(); err != nil {
		return f, err
	}
	swaps, err := loopsetup.Swaps()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a container may have no such file
		return f, err
	}
	f.otherFree = freeElsewhere(swaps, inMemory)
	return f, nil
}

// inMemory reports whether the pages of a swap area lie in memory.
func inMemory(path string) bool { return strings.HasPrefix(path, "/dev/zram") || IsOurs(path) }

func freeElsewhere(swaps []loopsetup.Swap, exclude func(path string) bool) uint64 {
	var free uint64
	for _, s := range swaps {
		if s.Found && !exclude(s.Path) && s.Used < s.Size {
			free += s.Size - s.Used
		}
	}
	return free
}
