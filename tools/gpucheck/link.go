// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/zramfs/zramfs/gpu"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
)

// quadBytes is the bytes that a thread of a kernel reads at once.
const quadBytes = 16

// A linkCheck holds memory on both sides of the link.
type linkCheck struct {
	*rig
	*device

	host [2]driver.Host
	far  [2]driver.Pointer
}

// link is a step: the rates of copies and of kernels in host memory.
func (r *rig) link() error {
	return r.onDevice(func(d *device) error {
		return r.onLink(d, func(c *linkCheck) error {
			l, err := c.measure()
			if err != nil {
				return err
			}
			for _, f := range []struct {
				what  string
				value float64
			}{
				{"copy to the device, pinned", l.ToDevice}, {"copy from the device, pinned", l.FromDevice}, {"copies both ways at once, added up", l.BothWays},
				{"kernel reads pinned memory", l.KernelReads}, {"kernel writes pinned memory", l.KernelWrites},
			} {
				r.figure(f.what, f.value/1e9, "GB/s")
			}
			return c.registered()
		})
	})
}

// measure measures the link as package gpu does, with more memory.
func (c *linkCheck) measure() (gpu.Link, error) {
	m := gpu.LinkMemory{In: c.host[0], Out: c.host[1], DeviceIn: c.far[0], DeviceOut: c.far[1]}
	return gpu.MeasureLink(c.ctx, c.Context, m, c.linkCopies)
}

// onLink allocates the memory for f and frees it.
func (r *rig) onLink(d *device, f func(*linkCheck) error) error {
	c := &linkCheck{rig: r, device: d}
	err := d.Do(func(t *driver.Thread) (err error) {
		for i := range 2 {
			if c.host[i], err = t.AllocHost(r.linkBytes); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range 2 {
		if err == nil {
			c.far[i], err = d.alloc("far", r.linkBytes)
		}
	}
	if err == nil {
		r.source.fill(c.host[0].Bytes(), 7)
		err = f(c)
	}
	return errors.Join(err, c.free())
}

// free frees the memory, unless the context is dead.
func (c *linkCheck) free() error {
	if c.Err() != nil {
		return nil
	}
	return errors.Join(c.release(), c.Do(func(t *driver.Thread) error {
		var errs []error
		for i := range 2 {
			if len(c.host[i].Bytes()) > 0 {
				errs = append(errs, t.FreeHost(c.host[i]))
			}
		}
		return errors.Join(errs...)
	}))
}

// registered measures registering memory of the program, and a kernel that reads it.
func (c *linkCheck) registered() (err error) {
	k, err := kernels.ReadMemory()
	if err != nil {
		return err
	}
	memory, unmap, err := mapMemory(c.linkBytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmap()) }()
	c.source.fill(memory, 8)
	var h driver.Host
	start := time.Now()
	err = c.Do(func(t *driver.Thread) (err error) {
		h, err = t.RegisterHost(memory, true)
		return err
	})
	if err != nil {
		return err
	}
	c.figure("memory registered", speed(c.linkBytes, time.Since(start)), "GB/s")
	read, err := c.launch(k, gpu.MemoryBlocks(c.Properties(), c.linkBytes), uint64(h.Device()), uint64(c.far[0]), uint64(c.linkBytes/quadBytes))
	if err == nil {
		c.figure("kernel reads registered memory", speed(c.linkBytes, read), "GB/s")
	}
	return errors.Join(err, c.Do(func(t *driver.Thread) error { return t.UnregisterHost(h) }))
}
