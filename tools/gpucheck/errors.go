// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/gpu"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
	"github.com/zramfs/zramfs/internal/pages"
)

// errors is a step, H9. Its last part leaves the process unable to use the device.
func (r *rig) errors() error {
	library, err := r.find()
	if err != nil {
		return err
	}
	c, err := library.Open(r.device, driver.Options{})
	if err != nil {
		return errors.Join(err, library.Close())
	}
	err = r.provoke(c)
	return errors.Join(err, c.Close(), library.Close())
}

func (r *rig) provoke(c *driver.Context) error {
	err := c.Do(func(t *driver.Thread) error {
		_, err := t.Alloc("too much", int(2*c.Properties().Memory))
		return err
	})
	if !errors.Is(err, driver.OutOfMemory) {
		return fmt.Errorf("twice the device's memory: %w, want %w", err, driver.OutOfMemory)
	}
	r.proved("F045", "too much memory", err.Error())
	err = c.Do(func(t *driver.Thread) error {
		p, err := t.Alloc("a little", pageSize)
		if err != nil {
			return err
		}
		return t.Free(p)
	})
	if err != nil {
		return fmt.Errorf("after that, a little: %w", err)
	}
	return r.fault(c)
}

// fault has a kernel read an unmapped address.
func (r *rig) fault(c *driver.Context) error {
	k, err := kernels.AddressCases()[2].Build()
	if err != nil {
		return err
	}
	var e driver.Event
	err = c.Do(func(t *driver.Thread) error {
		s, err := t.NewStream()
		if err != nil {
			return err
		}
		if e, err = t.NewEvent(); err != nil {
			return err
		}
		return errors.Join(t.Launch(s, k, 1, nowhere, nowhere), t.Record(e, s))
	})
	if err == nil {
		err = c.Wait(e)
	}
	var told *driver.Error
	if !errors.As(err, &told) || c.Err() == nil {
		return fmt.Errorf("a kernel that reads from %#x: %w, want an error of the device and a dead context", nowhere, err)
	}
	if again := c.Do(func(*driver.Thread) error { return nil }); !errors.Is(again, driver.ErrDead) {
		return fmt.Errorf("a dead context answers: %w", again)
	}
	r.proved("H9 F044", "a kernel that reads an unmapped address", told.Error())
	return nil
}

// nowhere is an address that no device maps.
const nowhere = 0x100

// small is a step: a small batch of everything.
func (r *rig) small() error {
	few := *r
	few.blocks = min(few.blocks, 16)
	few.kernelPages, few.bufferPages = min(few.kernelPages, 96), min(few.bufferPages, 96)
	if err := few.addresses(); err != nil {
		return err
	}
	err := few.onDevice(func(d *device) error {
		all, err := programs()
		if err != nil {
			return err
		}
		c := &kernelCheck{rig: &few, device: d, programs: all}
		return c.buffer(bytes.Join(pages.Mix(few.bufferPages, 5), nil))
	})
	if err != nil {
		return err
	}
	return r.withEngine(gpu.Options{Batch: 64, Path: gpu.Copied, Compress: true}, func(e *gpu.Engine) error { return r.oneBatch(e, few.bufferPages) })
}
