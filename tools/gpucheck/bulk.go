// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu"
	"github.com/zramfs/zramfs/gpu/driver"
)

// A bulkCheck works on one large batch, host to host.
type bulkCheck struct {
	*rig

	pages   []byte      // as made's arena and back in memory that can be registered
	made    *bulk.Batch // from pages
	back    []byte      // the pages decompressed from made
	in, out float64     // GB/s that copies to the device and back reach

	// The best rates of the CPU alone and of the device alone for one algorithm, by operation, in
	// GB/s, and the bytes of the CPU's objects.
	cpu, gpu map[bulk.Op]float64
	objects  int64
}

// bulkShare is the memory that the step needs, in batches: three for pages and objects, one for
// everything else, one spare.
const bulkShare = 5

// bulk is a step: one large batch, host to host.
func (r *rig) bulk() (err error) {
	if err := r.onDevice(func(*device) error { return nil }); err != nil { // fail early without a device
		return err
	}
	free, err := freeMemory()
	if err != nil {
		return err
	}
	r.bulkPages = min(r.bulkPages, int(free/bulkShare/pageSize))
	size := r.bulkPages * pageSize
	c := &bulkCheck{rig: r, made: bulk.NewBatch(bulk.Decompress, r.bulkPages)}
	for _, m := range []*[]byte{&c.pages, &c.made.Arena, &c.back} {
		memory, unmap, mapErr := mapMemory(size)
		if mapErr != nil {
			return mapErr
		}
		*m = memory
		defer func() { err = errors.Join(err, unmap()) }()
	}
	r.tell(finding{What: "the batch", Value: float64(size) / 1e9, Unit: "GB", Text: r.source.name() + " pages"})
	c.source.fill(c.pages, 100)
	if err := c.ceilings(); err != nil {
		return err
	}
	for _, algorithm := range []string{"lz4", "page"} {
		if err := c.algorithm(algorithm); err != nil {
			return fmt.Errorf("%s: %w", algorithm, err)
		}
	}
	return nil
}

// ceilings measures the copy rates of the link and of all cores.
func (c *bulkCheck) ceilings() error {
	took := time.Duration(math.MaxInt64)
	for range 3 { // the first one faults the memory in
		start := time.Now()
		err := inParallel(len(c.pages), copyGrain, func(from, to int) error { copy(c.back[from:to], c.pages[from:to]); return nil })
		if err != nil {
			return err
		}
		took = min(took, time.Since(start))
	}
	c.figure("memcpy, all cores", speed(len(c.pages), took), "GB/s")
	return c.onDevice(func(d *device) error {
		return c.onLink(d, func(l *linkCheck) error {
			link, err := l.measure()
			c.in, c.out = link.ToDevice/1e9, link.FromDevice/1e9
			return err
		})
	})
}

// algorithm measures the CPU, each path of the engine, and both together.
func (c *bulkCheck) algorithm(name string) error {
	c.cpu, c.gpu = map[bulk.Op]float64{}, map[bulk.Op]float64{}
	if err := c.cpuAlone(name); err != nil {
		return err
	}
	if err := c.withDevice(name); err != nil {
		return err
	}
	return c.ctx.Err()
}

func (c *bulkCheck) cpuAlone(name string) error {
	planner, err := newPlanner(name, nil, bulk.Config{Items: c.made.N})
	if err != nil {
		return err
	}
	for _, op := range []bulk.Op{bulk.Compress, bulk.Decompress, bulk.Verify} {
		value, report, runErr := c.best(planner, op, c.made.N, c.rounds+1)
		if err = runErr; err != nil {
			break
		}
		if c.cpu[op] = value; op == bulk.Compress {
			c.objects = report.Objects
			pack(c.made)
			c.figure(name+": ratio, CPU", float64(len(c.pages))/float64(report.Objects), "")
		}
		what := fmt.Sprintf("%s: %s, CPU alone, all cores", name, op)
		if name == "lz4" && op == bulk.Decompress {
			c.least("G.119", what, value, "GB/s", 36)
		} else {
			c.figure(what, value, "GB/s")
		}
	}
	return errors.Join(err, planner.Close())
}

// withDevice measures the engine by each data path, alone and together with the CPU.
func (c *bulkCheck) withDevice(name string) error {
	library, err := c.find()
	if err != nil {
		return err
	}
	o := gpu.Options{Device: c.device, Path: gpu.Copied, Compress: name == "lz4", Driver: driver.Options{Limit: time.Minute}}
	if c.simulated {
		o.Batch = 64
	}
	e, err := gpu.Open(library, o)
	if err != nil {
		return errors.Join(err, library.Close())
	}
	planner, err := newPlanner(name, []bulk.Engine{e}, bulk.Config{Items: c.made.N})
	if err != nil {
		return errors.Join(err, e.Close(), library.Close())
	}
	return errors.Join(c.paths(name, e, planner), planner.Close(), library.Close())
}

// paths measures each data path: first without registered memory, then with all of it registered,
// so that pages also travel straight.
func (c *bulkCheck) paths(name string, e *gpu.Engine, planner *bulk.Planner) error {
	if err := c.engine(name, e, planner); err != nil {
		return fmt.Errorf("%s: %w", e.Path(), err)
	}
	start := time.Now()
	err := errors.Join(planner.Register(c.pages, false), planner.Register(c.made.Arena, false), planner.Register(c.back, true))
	if err != nil {
		return err
	}
	c.figure(name+": memory registered", speed(3*len(c.pages), time.Since(start)), "GB/s")
	for _, path := range []gpu.Path{gpu.InPlace, gpu.Straight} {
		if err := e.SetPath(path); err != nil {
			return err
		}
		if err := c.engine(name, e, planner); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// engine measures the operations. The objects are the CPU's until the last operation, compressing,
// for which the way to read objects makes no difference.
func (c *bulkCheck) engine(name string, e *gpu.Engine, planner *bulk.Planner) error {
	for _, op := range []bulk.Op{bulk.Decompress, bulk.Verify} {
		if err := c.together(name, op, e, planner); err != nil {
			return err
		}
	}
	if e.Path() == gpu.InPlace { // the other operations are the same as on other paths
		return nil
	}
	if err := c.crossover(name, bulk.Decompress, e, planner); err != nil || name != "lz4" {
		return err
	}
	if err := c.together(name, bulk.Compress, e, planner); err != nil {
		return err
	}
	if err := c.crossover(name, bulk.Compress, e, planner); err != nil {
		return err
	}
	planner.SetMode(bulk.CPUAlone)
	_, _, err := c.best(planner, bulk.Compress, c.made.N, 1) // makes the objects for the next path
	pack(c.made)
	return err
}

// pack moves the objects together, as those of an image lie. The CPU makes them in ascending order,
// with a gap behind each piece; a page that is stored raw has none.
func pack(b *bulk.Batch) {
	at := 0
	for i := range b.N {
		if b.ID[i] != codec.Raw {
			n := copy(b.Arena[at:], b.Arena[b.Offset[i]:][:b.Length[i]])
			b.Offset[i] = uint64(at)
			at += n
		}
	}
}

// together measures the engine alone and then both, after they have learned the split.
func (c *bulkCheck) together(name string, op bulk.Op, e *gpu.Engine, planner *bulk.Planner) error {
	planner.SetMode(bulk.EnginesAlone)
	before := e.Stats(op)
	alone, report, err := c.best(planner, op, c.made.N, c.rounds+1)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s: %s, GPU alone, %s", name, op, e.Path())
	switch op {
	case bulk.Decompress:
		c.least("G.115", what, alone, "GB/s", max(14.4, 0.9*c.out))
	case bulk.Compress:
		c.least("F054", what, alone, "GB/s", 0.9*c.in)
		c.least("G.116", name+": ratio, GPU", float64(len(c.pages))/float64(report.Objects), "", 1.8)
		c.most("G.120", name+": GPU's bytes beside the CPU's", float64(report.Objects)/float64(c.objects), "", 1.05)
	default:
		c.figure(what, alone, "GB/s")
	}
	c.stages(what, op, before, e.Stats(op))
	c.gpu[op] = max(c.gpu[op], alone)

	planner.SetMode(bulk.Shared)
	if _, _, err := c.best(planner, op, c.made.N, 2); err != nil { // learns the split
		return err
	}
	both, report, err := c.best(planner, op, c.made.N, c.rounds)
	if err != nil {
		return err
	}
	what = fmt.Sprintf("%s: %s, CPU and GPU, %s", name, op, e.Path())
	want := map[bulk.Op]float64{bulk.Compress: 35, bulk.Decompress: 33.3}
	if w := want[op]; w > 0 {
		c.least(map[bulk.Op]string{bulk.Compress: "G.118", bulk.Decompress: "G.119"}[op], what, both, "GB/s", w)
	} else {
		c.figure(what, both, "GB/s")
	}
	c.figure(what+": the GPU's share", report.Share(e.Name()), "")
	c.least("hybrid", what+" beside the better one alone", both/max(c.cpu[op], c.gpu[op]), "", 1.4)
	return nil
}

// stages reports the time of each stage for a GB.
func (c *bulkCheck) stages(what string, op bulk.Op, before, after gpu.Stats) {
	gigabytes := float64(after.Pages-before.Pages) * pageSize / 1e9
	if gigabytes == 0 {
		return
	}
	ms := func(a, b time.Duration) float64 { return float64((b - a).Microseconds()) / 1e3 / gigabytes }
	there, kernel, back := ms(before.Times.H2D, after.Times.H2D), ms(before.Times.Kernel, after.Times.Kernel), ms(before.Times.D2H, after.Times.D2H)
	straight := float64(after.Straight-before.Straight) / float64(max(after.In+after.Out-before.In-before.Out, 1))
	c.tell(finding{What: what + ": ms a GB", Text: fmt.Sprintf("to the device %.1f, kernel %.1f, back %.1f; computing outweighs: %v; straight: %.0f %% of the bytes",
		there, kernel, back, kernel >= 5*(there+back), 100*straight)})
}

// best does an operation on size pages several times. It returns the best rate in GB/s and the
// report of the last run. Every result is checked once.
func (c *bulkCheck) best(planner *bulk.Planner, op bulk.Op, size, times int) (value float64, report bulk.Report, err error) {
	b := *c.made
	b.Op, b.N, b.Pages = op, size, c.pages
	if op == bulk.Decompress {
		b.Pages = c.back
		// back holds the right pages from earlier runs: clear it, so that an unwritten page fails.
		inParallel(size*pageSize, copyGrain, func(from, to int) error { clear(c.back[from:to]); return nil })
	}
	if op != bulk.Compress { // other operations also count raw objects
		b.Regions = [][]byte{c.made.Arena, c.pages}
	}
	for range times {
		if err := planner.Run(c.ctx, &b, &report); err != nil {
			return 0, report, err
		}
		if done := report.Verdicts[bulk.Done]; done != size {
			return 0, report, fmt.Errorf("%s: %d pages of %d are done: %w", op, done, size, errWrong)
		}
		for _, e := range report.Engines {
			if e.Failures > 0 {
				return 0, report, fmt.Errorf("%s: %s: %d pieces: %w", op, e.Name, e.Failures, e.Err)
			}
		}
		value = max(value, speed(size*pageSize, report.Elapsed))
	}
	if op == bulk.Decompress {
		err = pagesEqual(c.back[:size*pageSize], c.pages)
	}
	return value, report, err
}
