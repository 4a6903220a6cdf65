// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zramfs/zramfs/loopsetup"
)

// endingTime bounds the wait for a device that ends by itself; endingPause is between two looks.
const (
	endingTime  = 30 * time.Second
	endingPause = 20 * time.Millisecond
)

// FindForUp returns the devices at dir, none where there is none. It waits for the end of one whose
// swap areas were turned off by swapoff: until that there is no room for the next.
func FindForUp(dir string) ([]Device, error) {
	for end := time.Now().Add(endingTime); ; time.Sleep(endingPause) {
		all, err := Find(dir)
		if errors.Is(err, ErrNotRunning) {
			return nil, nil
		}
		if err != nil || len(all) == 0 || !ending(all[0]) || time.Now().After(end) {
			return all, err
		}
	}
}

// ending reports whether up made d without --keep, and its swap is off.
func ending(d Device) bool {
	kept := func(loop loopsetup.Info) bool { return !loop.Autoclear }
	return d.Record != nil && d.Keeper != 0 && len(d.Swaps) == 0 && !slices.ContainsFunc(d.Loops, kept)
}

// UpAlready returns the first device that is used as swap, or nil. A device mounted there without
// swap may hold data, and is an error.
func UpAlready(all []Device) (*Device, error) {
	if len(all) == 0 {
		return nil, nil
	}
	d := all[0]
	if err := refuseUp(d); err != nil {
		return nil, err
	}
	if d.Swap() == nil && d.Unseen != nil {
		return nil, fmt.Errorf("%s: %w", d.Title(), d.Unseen)
	}
	if d.Swap() == nil {
		return nil, fmt.Errorf("%s is mounted, but not used as swap: zramfs down %[1]s removes it, if no process uses it", d.Word())
	}
	if d.Status == nil {
		return nil, fmt.Errorf("%s is swap, but %w: zramfs status %s says what to do", AreaNames(LoopPaths(d.Loops)), d.Err, d.Word())
	}
	return &d, nil
}

// refuseUp returns the reason why DIR of d can take no device: a device there is in another mount
// namespace, dead or silent.
func refuseUp(d Device) error {
	switch {
	case errors.Is(d.Err, ErrDead) && len(d.Swaps) > 0:
		p := DiagnoseDead(d)
		return fmt.Errorf("%s: %s: %s", d.Word(), p.What, p.Fix)
	case d.Elsewhere:
		p := DiagnoseAway(d)
		return fmt.Errorf("%s: %s; %s", d.Word(), p.What, p.Fix)
	}
	return nil
}
