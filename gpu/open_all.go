// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"sync/atomic"

	"github.com/zramfs/zramfs/gpu/driver"
)

// AllDevices as a device's number makes [OpenAll] open every device, up to as many as a planner can
// have.
const AllDevices = -1

const maxDevices = 64

// OpenAll opens the device that the options name, or all, of the driver that find returns; find is
// a function like [driver.CUDA]. It returns one engine for each opened device, in the order of
// their numbers. The error is why there is none, or why a device is not among them. The engines
// belong to the caller or the [bulk.Planner] that takes them; closing the last one closes the
// driver.
func OpenAll(find func() (*driver.Driver, error), o Options) ([]*Engine, error) {
	d, err := find()
	if err != nil {
		return nil, err
	}
	engines, err := openEach(d, o)
	if len(engines) == 0 {
		return nil, errors.Join(err, d.Close())
	}
	var open atomic.Int32
	open.Store(int32(len(engines)))
	for _, e := range engines {
		e.ending = func() error {
			if open.Add(-1) > 0 {
				return nil
			}
			return d.Close()
		}
	}
	return engines, err
}

// openEach opens the devices one after the other: one must not disturb the measurements of another.
func openEach(d *driver.Driver, o Options) (engines []*Engine, err error) {
	first, end := o.Device, o.Device+1
	if o.Device == AllDevices {
		first, end = 0, min(len(d.Devices()), maxDevices)
	}
	for o.Device = first; o.Device < end; o.Device++ {
		e, openErr := Open(d, o)
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		engines = append(engines, e)
	}
	return engines, err
}
