// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/zramfs/zramfs/gpu/driver"
)

// A Mode says whether a GPU is wanted.
type Mode uint8

// The modes.
const (
	Auto    Mode = iota // where there is one
	Off                 // never
	Require             // or the work is not done
)

var modeNames = [...]string{"auto", "off", "require"}

// String is the mode's name.
func (m Mode) String() string { return modeNames[min(m, Require)] }

// ParseMode reads a mode's name.
func ParseMode(name string) (Mode, error) {
	for i, n := range modeNames {
		if n == name {
			return Mode(i), nil
		}
	}
	return Auto, fmt.Errorf("%w: %q is none of auto, off and require", driver.ErrArgument, name)
}

// AllDevices is what [Choose] takes for a device's number to open each that there is, up to as many
// as a planner can have.
const AllDevices = -1

const mostDevices = 64

// A Choice is what came of looking for GPUs.
type Choice struct {
	// Engines is one for each device that was opened, in the order of their numbers. They belong to
	// whoever uses them, as [bulk.Planner] does, and with the last of them that is closed the driver
	// is closed as well.
	Engines []*Engine
	// Why is why there is none, or why a device that was wanted is not among them.
	Why error
}

// Choose looks for GPUs as the mode says, by a function like [driver.CUDA], and opens the one that
// the options name, or all. That there is none is an error only if one is required, and a device
// that cannot be used is none where another can.
func Choose(m Mode, find func() (*driver.Driver, error), o Options) (Choice, error) {
	if m == Off {
		return Choice{}, nil
	}
	d, err := find()
	if err != nil {
		return without(m, err)
	}
	c := openAll(d, o)
	if len(c.Engines) == 0 {
		return without(m, errors.Join(c.Why, d.Close()))
	}
	var open atomic.Int32
	open.Store(int32(len(c.Engines)))
	for _, e := range c.Engines {
		e.ending = func() error {
			if open.Add(-1) > 0 {
				return nil
			}
			return d.Close()
		}
	}
	return c, nil
}

// openAll opens the devices one after the other: what is measured of one must not be disturbed by
// another.
func openAll(d *driver.Driver, o Options) (c Choice) {
	first, end := o.Device, o.Device+1
	if o.Device == AllDevices {
		first, end = 0, min(len(d.Devices()), mostDevices)
	}
	var errs []error
	for o.Device = first; o.Device < end; o.Device++ {
		e, err := Open(d, o)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.Engines = append(c.Engines, e)
	}
	c.Why = errors.Join(errs...)
	return c
}

func without(m Mode, err error) (Choice, error) {
	if m == Require {
		return Choice{}, fmt.Errorf("a GPU is required: %w", err)
	}
	return Choice{Why: err}, nil
}
