// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/loopsetup"
)

// fit is the question whether what is in swap has room elsewhere. All sizes are in bytes.
type fit struct {
	used      uint64 // in the areas that are to be turned off
	available uint64 // memory that the kernel says it can give without swapping
	otherFree uint64 // free in swap areas that do not lie in memory themselves
}

// margin is what has to be left for everybody else: the more there is to bring back, the longer it
// takes, and the more they ask for meanwhile.
func (f fit) margin() uint64 { return 32<<20 + f.used/16 }

// need is what bringing everything back takes. What the device gives back in turn as it empties is
// not counted: it comes afterwards.
func (f fit) need() uint64 {
	if f.used == 0 {
		return 0
	}
	return f.used + f.margin()
}

func (f fit) ok() bool { return f.need() == 0 || f.need() < f.available+f.otherFree }

// String says the numbers.
func (f fit) String() string {
	return fmt.Sprintf("%s in swap (%s with a margin), %s of memory available, %s free in other swap",
		term.Size(f.used), term.Size(f.need()), term.Size(f.available), term.Size(f.otherFree))
}

// checkReturn refuses to bring back what does not fit, or what cannot be brought back. It waits
// until it fits, as long as that was asked for.
func (r *downRun) checkReturn(d device, areas []loopsetup.Swap) error {
	used := usedIn(areas)
	switch {
	case errors.Is(d.Err, errDead) && used > 0:
		p := diagnoseDead(d)
		return fmt.Errorf("%s: %s; processes that touch those pages are killed; %s turns it off all the same", d.title(), p.What, p.Fix)
	case errors.Is(d.Err, errNoAnswer):
		if err := d.mayUnmount(); err != nil || used > 0 {
			return errors.Join(err, d.Err)
		}
	}
	for {
		err := r.checkFit(d, areas)
		if err == nil || !time.Now().Before(r.until) {
			return err
		}
		time.Sleep(min(waitPause, time.Until(r.until)))
		d.swapUse = readSwapUse(host.Local, d)
		if areas, err = swapAreas(d); err != nil {
			return err
		}
	}
}

// waitPause is the time between two looks at whether it fits by now.
const waitPause = time.Second

// checkFit refuses to bring back what does not fit.
func (r *downRun) checkFit(d device, areas []loopsetup.Swap) error {
	f, err := measureFit(areas, d.swapUse.slots.ballast)
	if err != nil || f.used == 0 {
		return err
	}
	if !f.ok() {
		return fmt.Errorf("%s does not fit into memory: %s; end some programs first, wait (--wait 60), or use --force", d.title(), f)
	}
	if err := checkGroups(r.out, host.Local, f); err != nil {
		return fmt.Errorf("%s: %w", d.title(), err)
	}
	return printStep(r.out, "fit", "ok", f.String())
}

// measureFit collects the numbers. A ballast goes before swap is turned off. Free space in zram and
// in other devices of ours does not count: it lies in the very memory that is asked about.
func measureFit(areas []loopsetup.Swap, ballast uint64) (fit, error) {
	f := fit{used: usedIn(areas) - min(ballast, usedIn(areas))}
	if f.used == 0 {
		return f, nil
	}
	var err error
	if f.available, err = host.Local.MemAvailable(); err != nil {
		return f, err
	}
	swaps, err := loopsetup.Swaps()
	if err != nil {
		return f, err
	}
	f.otherFree = freeElsewhere(swaps, inMemory)
	return f, nil
}

// inMemory reports whether the pages of a swap area lie in memory.
func inMemory(path string) bool { return strings.HasPrefix(path, "/dev/zram") || isOurs(path) }

func freeElsewhere(swaps []loopsetup.Swap, exclude func(path string) bool) uint64 {
	var free uint64
	for _, s := range swaps {
		if !exclude(s.Path) && s.Used < s.Size {
			free += s.Size - s.Used
		}
	}
	return free
}
