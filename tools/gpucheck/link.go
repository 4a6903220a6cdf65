// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"zramfs/gpu/driver"
)

// A linkCheck has memory on both sides, and a stream for each way.
type linkCheck struct {
	*rig
	*device

	host [2]driver.Host
	far  [2]driver.Pointer
	back driver.Stream
	ends [2]driver.Event
}

// link is a step.
func (r *rig) link() error {
	return r.onDevice(func(d *device) error {
		return r.onLink(d, func(c *linkCheck) error {
			in, out, both, err := c.copies()
			if err != nil {
				return err
			}
			r.figure("copy to the device, pinned", in, "GB/s")
			r.figure("copy from the device, pinned", out, "GB/s")
			r.figure("copies both ways at once, added up", both, "GB/s")
			if err := c.kernelsInHost(); err != nil {
				return err
			}
			return c.registered()
		})
	})
}

// onLink allocates, and frees again.
func (r *rig) onLink(d *device, f func(*linkCheck) error) error {
	c := &linkCheck{rig: r, device: d}
	err := d.Do(func(t *driver.Thread) (err error) {
		for i := range 2 {
			if c.host[i], err = t.AllocHost(r.linkBytes); err != nil {
				return err
			}
			if c.ends[i], err = t.NewEvent(); err != nil {
				return err
			}
		}
		c.back, err = t.NewStream()
		return err
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

// free gives all back, unless the context is dead.
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
			if c.ends[i] != (driver.Event{}) {
				errs = append(errs, t.CloseEvent(c.ends[i]))
			}
		}
		if c.back != (driver.Stream{}) {
			errs = append(errs, t.CloseStream(c.back))
		}
		return errors.Join(errs...)
	}))
}

// copies measures both ways and both at once, in GB/s.
func (c *linkCheck) copies() (in, out, both float64, err error) {
	bytes := c.linkBytes * c.linkCopies
	toDevice := func(t *driver.Thread) error {
		return c.repeat(func() error { return t.CopyIn(c.stream, c.far[0], c.host[0]) })
	}
	fromDevice := func(s driver.Stream) func(t *driver.Thread) error {
		return func(t *driver.Thread) error {
			return c.repeat(func() error { return t.CopyOut(s, c.host[1], c.far[1]) })
		}
	}
	if err := c.clear(c.far[1], c.linkBytes); err != nil {
		return 0, 0, 0, err
	}
	var took time.Duration
	for range 2 { // the first warms up
		if took, err = c.timed(toDevice); err != nil {
			return 0, 0, 0, err
		}
		in = speed(bytes, took)
		if took, err = c.timed(fromDevice(c.stream)); err != nil {
			return 0, 0, 0, err
		}
		out = speed(bytes, took)
	}
	start := time.Now()
	err = c.Do(func(t *driver.Thread) error {
		return errors.Join(toDevice(t), fromDevice(c.back)(t), t.Record(c.ends[0], c.stream), t.Record(c.ends[1], c.back))
	})
	err = errors.Join(err, c.Wait(c.ends[0]), c.Wait(c.ends[1]))
	return in, out, speed(2*bytes, time.Since(start)), err
}

func (c *linkCheck) repeat(f func() error) error {
	for range c.linkCopies {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// kernelsInHost measures kernels that read and write the host's memory.
func (c *linkCheck) kernelsInHost() error {
	k, err := build(readKernel, writeKernel)
	if err != nil {
		return err
	}
	quads := uint64(c.linkBytes / quadBytes)
	blocks := min(8*c.Properties().Multiprocessors, c.linkBytes/quadBytes/tinyThreads+1)
	var read, write time.Duration
	for range 2 {
		if read, err = c.launch(k[0], blocks, uint64(c.host[0].Device()), uint64(c.far[0]), quads); err != nil {
			return err
		}
		if write, err = c.launch(k[1], blocks, uint64(c.host[1].Device()), quads); err != nil {
			return err
		}
	}
	c.figure("kernel reads pinned memory", speed(c.linkBytes, read), "GB/s")
	c.figure("kernel writes pinned memory", speed(c.linkBytes, write), "GB/s")
	for i := range int(quads) {
		if binary.LittleEndian.Uint32(c.host[1].Bytes()[i*quadBytes+4:]) != uint32(i) {
			return fmt.Errorf("quad %d that a kernel wrote to the host's memory: %w", i, errWrong)
		}
	}
	return nil
}

// registered measures what it takes to make memory of the program known to the device, and reads it by a kernel.
func (c *linkCheck) registered() (err error) {
	k, err := build(readKernel)
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
	blocks := min(8*c.Properties().Multiprocessors, c.linkBytes/quadBytes/tinyThreads+1)
	read, err := c.launch(k[0], blocks, uint64(h.Device()), uint64(c.far[0]), uint64(c.linkBytes/quadBytes))
	if err == nil {
		c.figure("kernel reads registered memory", speed(c.linkBytes, read), "GB/s")
	}
	return errors.Join(err, c.Do(func(t *driver.Thread) error { return t.UnregisterHost(h) }))
}
