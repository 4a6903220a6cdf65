// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/ptx"
)

// stagingBytes is the size of the buffer for copies to and from the device.
const stagingBytes = 32 << 20

// A device is a context with a step's memory and stream on it.
type device struct {
	*driver.Context

	stream     driver.Stream
	begin, end driver.Event
	staging    driver.Host
	held       []driver.Pointer
}

// onDevice opens the device for f and closes it.
func (r *rig) onDevice(f func(d *device) error) (err error) {
	library, err := r.find()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, library.Close()) }()
	c, err := library.Open(r.device, driver.Options{Limit: time.Minute})
	if err != nil {
		return err
	}
	d := &device{Context: c}
	err = d.Do(func(t *driver.Thread) (err error) {
		if d.stream, err = t.NewStream(); err != nil {
			return err
		}
		if d.begin, err = t.NewEvent(); err != nil {
			return err
		}
		if d.end, err = t.NewEvent(); err != nil {
			return err
		}
		d.staging, err = t.AllocHost(stagingBytes)
		return err
	})
	if err == nil {
		err = errors.Join(f(d), d.close())
	}
	return errors.Join(err, c.Close())
}

// close frees everything, unless the context is dead.
func (d *device) close() error {
	if d.Err() != nil {
		return nil
	}
	return errors.Join(d.release(), d.Do(func(t *driver.Thread) error {
		return errors.Join(t.FreeHost(d.staging), t.CloseEvent(d.begin), t.CloseEvent(d.end), t.CloseStream(d.stream))
	}))
}

// alloc allocates device memory until release.
func (d *device) alloc(name string, n int) (p driver.Pointer, err error) {
	err = d.Do(func(t *driver.Thread) error {
		p, err = t.Alloc(name, n)
		return err
	})
	if err == nil {
		d.held = append(d.held, p)
	}
	return p, err
}

// release frees what alloc allocated.
func (d *device) release() error {
	held := d.held
	d.held = nil
	return d.Do(func(t *driver.Thread) error {
		var errs []error
		for _, p := range held {
			errs = append(errs, t.Free(p))
		}
		return errors.Join(errs...)
	})
}

// timed runs what f queues in the stream, and returns the device's time for it.
func (d *device) timed(f func(t *driver.Thread) error) (took time.Duration, err error) {
	err = d.Do(func(t *driver.Thread) error {
		if err := t.Record(d.begin, d.stream); err != nil {
			return err
		}
		if err := f(t); err != nil {
			return err
		}
		return t.Record(d.end, d.stream)
	})
	if err != nil {
		return 0, err
	}
	if err := d.Wait(d.end); err != nil {
		return 0, err
	}
	err = d.Do(func(t *driver.Thread) error {
		took, err = t.Elapsed(d.begin, d.end)
		return err
	})
	return took, err
}

// launch runs a kernel to its end.
func (d *device) launch(k *ptx.Kernel, blocks int, args ...uint64) (time.Duration, error) {
	return d.timed(func(t *driver.Thread) error { return t.Launch(d.stream, k, blocks, args...) })
}

// clear sets memory to zeros.
func (d *device) clear(p driver.Pointer, n int) error {
	_, err := d.timed(func(t *driver.Thread) error { return t.Fill(d.stream, p, 0, n) })
	return err
}

// upload copies memory of the program to the device.
func (d *device) upload(p driver.Pointer, b []byte) error {
	for len(b) > 0 {
		part := d.staging.Slice(0, min(len(b), stagingBytes))
		inParallel(len(part.Bytes()), copyGrain, func(from, to int) error { copy(part.Bytes()[from:to], b[from:]); return nil })
		if _, err := d.timed(func(t *driver.Thread) error { return t.CopyIn(d.stream, p, part) }); err != nil {
			return err
		}
		b, p = b[len(part.Bytes()):], p+driver.Pointer(len(part.Bytes()))
	}
	return nil
}

// download copies device memory to memory of the program.
func (d *device) download(b []byte, p driver.Pointer) error {
	for len(b) > 0 {
		part := d.staging.Slice(0, min(len(b), stagingBytes))
		if _, err := d.timed(func(t *driver.Thread) error { return t.CopyOut(d.stream, part, p) }); err != nil {
			return err
		}
		inParallel(len(part.Bytes()), copyGrain, func(from, to int) error { copy(b[from:to], part.Bytes()[from:to]); return nil })
		b, p = b[len(part.Bytes()):], p+driver.Pointer(len(part.Bytes()))
	}
	return nil
}

// place allocates device memory for b, a multiple of 32 bytes, and copies b there.
func (d *device) place(name string, b []byte) (driver.Pointer, error) {
	p, err := d.alloc(name, (len(b)+31)/32*32)
	if err != nil {
		return 0, err
	}
	return p, d.upload(p, b)
}
