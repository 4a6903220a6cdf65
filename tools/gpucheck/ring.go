// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu"
	"github.com/zramfs/zramfs/gpu/driver"
)

// rings are the settings of an engine that are compared: slots, and pages of each.
var rings = []struct{ slots, batch int }{{4, 8192}, {8, 4096}, {16, 2048}, {16, 4096}, {32, 1024}}

// A ringCheck does the same work with one engine after another.
type ringCheck struct {
	*rig

	regions       [3][]byte // pages, and their objects, and room for the results
	objects, made *bulk.Batch
}

// ring is a step: which number and size of slots is the best.
func (r *rig) ring() (err error) {
	if err := r.onDevice(func(*device) error { return nil }); err != nil {
		return err
	}
	c := &ringCheck{rig: r, objects: bulk.NewBatch(bulk.Compress, r.ringPages), made: bulk.NewBatch(bulk.Decompress, r.ringPages)}
	for i := range c.regions {
		memory, unmap, mapErr := mapMemory(r.ringPages * pageSize)
		if mapErr != nil {
			return mapErr
		}
		c.regions[i] = memory
		defer func() { err = errors.Join(err, unmap()) }()
	}
	c.source.fill(c.regions[0], 200)
	c.objects.Pages, c.objects.Arena = c.regions[0], c.regions[1]
	cpu, err := newPlanner("lz4", nil, bulk.Config{Items: r.ringPages})
	if err != nil {
		return err
	}
	if err := errors.Join(cpu.Run(r.ctx, c.objects, nil), cpu.Close()); err != nil {
		return err
	}
	if err := c.engine(0, 0, gpu.Measured, func(*bulk.Planner) error { return nil }); err != nil {
		return err
	}
	pack(c.objects)
	for _, s := range rings {
		if err := errors.Join(c.ctx.Err(), c.measure(s.slots, s.batch)); err != nil {
			return err
		}
	}
	return nil
}

// engine opens an engine and a planner over it and all cores, with registered memory, for f.
func (c *ringCheck) engine(slots, batch int, path gpu.Path, f func(*bulk.Planner) error) error {
	library, err := c.find()
	if err != nil {
		return err
	}
	if c.simulated {
		slots, batch = 2, 64
	}
	e, err := gpu.Open(library, gpu.Options{Device: c.device, Slots: slots, Batch: batch, Path: path, Compress: true, Driver: driver.Options{Limit: time.Minute}})
	if err != nil {
		return errors.Join(err, library.Close())
	}
	planner, err := newPlanner("lz4", []bulk.Engine{e}, bulk.Config{Items: c.ringPages})
	if err != nil {
		return errors.Join(err, e.Close(), library.Close())
	}
	if path == gpu.Measured {
		c.tell(finding{What: "the path that is measured as the fastest", Text: e.Path().String()})
	}
	for i, m := range c.regions {
		err = errors.Join(err, planner.Register(m, i == 2))
	}
	if err == nil {
		err = f(planner)
	}
	return errors.Join(err, planner.Close(), library.Close())
}

// measure measures the device alone, and with the cores, at one setting.
func (c *ringCheck) measure(slots, batch int) error {
	return c.engine(slots, batch, gpu.Straight, func(p *bulk.Planner) error {
		for _, op := range []bulk.Op{bulk.Decompress, bulk.Verify, bulk.Compress} {
			p.SetMode(bulk.EnginesAlone)
			alone, err := c.rate(p, op)
			if err != nil {
				return err
			}
			p.SetMode(bulk.Shared)
			both, err := c.rate(p, op)
			if err != nil {
				return err
			}
			what := fmt.Sprintf("%s, %d slots of %d pages, straight, ", op, slots, batch)
			c.figure(what+"GPU alone", alone, "GB/s")
			c.figure(what+"CPU and GPU", both, "GB/s")
		}
		return nil
	})
}

// rate does an operation several times, so that the planner learns the split, and returns the best
// rate in GB/s.
func (c *ringCheck) rate(p *bulk.Planner, op bulk.Op) (value float64, err error) {
	var report bulk.Report
	b := *c.objects
	b.Op = op
	switch op {
	case bulk.Decompress:
		b.Pages, b.Regions = c.regions[2], [][]byte{c.regions[1], c.regions[0]}
	case bulk.Verify:
		b.Regions = [][]byte{c.regions[1], c.regions[0]}
	case bulk.Compress: // its own objects, in the room for results
		b = *c.made
		b.Op, b.Pages, b.Arena = op, c.regions[0], c.regions[2]
	}
	for range c.rounds + 2 {
		if err := p.Run(c.ctx, &b, &report); err != nil {
			return 0, err
		}
		if done := report.Verdicts[bulk.Done]; done != b.N {
			return 0, fmt.Errorf("%s: %d pages of %d are done: %w", op, done, b.N, errWrong)
		}
		for _, e := range report.Engines {
			if e.Failures > 0 {
				return 0, fmt.Errorf("%s: %s: %d pieces: %w", op, e.Name, e.Failures, e.Err)
			}
		}
		value = max(value, speed(b.N*pageSize, report.Elapsed))
	}
	if op == bulk.Decompress {
		err = pagesEqual(c.regions[2], c.regions[0])
	}
	return value, err
}
