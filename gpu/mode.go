// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/zramfs/zramfs/gpu/driver"
)

// A Mode says whether to use GPUs.
type Mode uint8

// The modes.
const (
	Auto    Mode = iota // use a GPU if there is one
	Off                 // use no GPU
	Require             // fail without a GPU
)

// AllDevices as a device's number makes [Choose] open every device, up to as many as a planner can
// have.
const AllDevices = -1

const maxDevices = 64

// A Choice is the result of looking for GPUs.
type Choice struct {
	// Engines has one engine for each opened device, in the order of their numbers. They belong to
	// the caller or the [bulk.Planner] that takes them; closing the last one closes the driver.
	Engines []*Engine
	// Why is why there is none, or why a requested device is not among them.
	Why error
}

// Choose looks for GPUs as the mode says, with a function like [driver.CUDA], and opens the one in
// the options, or all. The lack of a GPU is an error only with Require, and an unusable device is
// one only if no other is usable.
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

// openAll opens the devices one after the other: one must not disturb the measurements of another.
func openAll(d *driver.Driver, o Options) (c Choice) {
	first, end := o.Device, o.Device+1
	if o.Device == AllDevices {
		first, end = 0, min(len(d.Devices()), maxDevices)
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
