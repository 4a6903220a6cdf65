// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
	"github.com/zramfs/zramfs/gpu/ptx"
)

// limit is the longest object kept, as in package codec.
const limit = pageSize - pageSize/16

// errWrong means that a result differs from the CPU's.
var errWrong = errors.New("not what the CPU makes of it")

func wrongPage(i int) error { return fmt.Errorf("page %d: %w", i, errWrong) }

// A program is a kernel and its measurements.
type program struct {
	*ptx.Kernel

	each  int // pages a block
	pages int
	took  time.Duration
}

// programs builds all kernels, by name.
func programs() (map[string]*program, error) {
	all := map[string]*program{}
	for _, k := range kernels.All() {
		kernel, err := k.Build()
		if err != nil {
			return nil, err
		}
		all[k.Name] = &program{Kernel: kernel, each: k.PagesPerBlock}
	}
	return all, nil
}

// run runs a kernel on n pages several times, each after prepare unless that is nil, and counts the
// best time: an idle device takes a while to run at full speed. The pages are far more than its
// cache holds.
func (c *kernelCheck) run(p *program, n int, prepare func() error, args ...uint64) error {
	best := time.Duration(math.MaxInt64)
	for range c.rounds + 1 {
		if prepare != nil {
			if err := prepare(); err != nil {
				return err
			}
		}
		took, err := c.launch(p.Kernel, (n+p.each-1)/p.each, args...)
		if err != nil {
			return err
		}
		best = min(best, took)
	}
	p.pages += n
	p.took += best
	return nil
}

// A kernelCheck runs the kernels on one buffer after another.
type kernelCheck struct {
	*rig
	*device

	programs       map[string]*program
	packed, stored int // compressed bytes of the same pages, by the kernel and by the CPU
}

// kernels is a step: each kernel against the CPU.
func (r *rig) kernels() error {
	return r.onDevice(func(d *device) (err error) {
		c := &kernelCheck{rig: r, device: d}
		if c.programs, err = programs(); err != nil {
			return err
		}
		memory := make([]byte, r.bufferPages*pageSize)
		for at, seed := 0, uint64(1); at < r.kernelPages; at, seed = at+r.bufferPages, seed+1 {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			r.source.fill(memory, seed)
			if err := c.buffer(memory); err != nil {
				return fmt.Errorf("buffer from page %d on: %w", at, err)
			}
			if at == 0 { // the first buffer also warms up
				for _, p := range c.programs {
					p.pages, p.took = 0, 0
				}
				if err := c.buffer(memory); err != nil {
					return err
				}
			}
		}
		c.report()
		return nil
	})
}

// buffer runs all kernels on the pages of one buffer.
func (c *kernelCheck) buffer(memory []byte) error {
	for _, algorithm := range []string{"lz4", "page"} {
		objects, err := c.cpuObjects(algorithm, memory)
		if err == nil {
			err = c.reading(algorithm, objects)
		}
		if err := errors.Join(err, c.release()); err != nil {
			return err
		}
	}
	return errors.Join(c.compressing(memory), c.release())
}

// cpuObjects compresses pages on the CPU.
func (r *rig) cpuObjects(name string, memory []byte) (*bulk.Batch, error) {
	b := bulk.NewBatch(bulk.Compress, len(memory)/pageSize)
	b.Pages = memory
	planner, err := newPlanner(name, nil, bulk.Config{Items: b.N})
	if err != nil {
		return nil, err
	}
	return b, errors.Join(planner.Run(r.ctx, b, nil), planner.Close())
}

// newPlanner returns a planner for an algorithm over the engines and all cores.
func newPlanner(name string, engines []bulk.Engine, config bulk.Config) (*bulk.Planner, error) {
	algorithm, err := codec.Parse(name)
	if err != nil {
		return nil, err
	}
	cpu, err := bulk.NewCPU(algorithm, 0)
	if err != nil {
		return nil, err
	}
	return bulk.NewPlanner(cpu, engines, config)
}

// reading runs the kernels that decompress and verify objects.
func (c *kernelCheck) reading(name string, b *bulk.Batch) error {
	arena, err := c.place("objects", b.Arena)
	if err != nil {
		return err
	}
	id := codec.LZ4
	if name == "page" {
		id = codec.Page
	}
	var items []int
	var addresses, lengths []byte
	for i := range b.N {
		if b.ID[i] == id {
			items = append(items, i)
			addresses = binary.LittleEndian.AppendUint64(addresses, uint64(arena)+b.Offset[i])
			lengths = binary.LittleEndian.AppendUint32(lengths, b.Length[i])
		}
	}
	n := len(items)
	if n == 0 {
		return fmt.Errorf("%w: the CPU made no object with %s", errWrong, name)
	}
	args, err := c.readingArgs(addresses, lengths, id)
	if err != nil {
		return err
	}
	if err := c.decompressed(name, b, items, args); err != nil {
		return fmt.Errorf("%s_decompress: %w", name, err)
	}
	if err := c.verified(name, b, items, args); err != nil {
		return fmt.Errorf("%s_verify: %w", name, err)
	}
	return nil
}

// readingArgs returns the reading kernels' arguments: objects, lengths, pages, statuses, count, and
// the table for the page format.
func (c *kernelCheck) readingArgs(addresses, lengths []byte, id codec.ID) ([]uint64, error) {
	n := len(lengths) / 4
	args := make([]uint64, 0, 6)
	for _, b := range [][]byte{addresses, lengths} {
		p, err := c.place("objects", b)
		if err != nil {
			return nil, err
		}
		args = append(args, uint64(p))
	}
	for _, size := range []int{n * pageSize, n * 4} {
		p, err := c.alloc("results", size)
		if err != nil {
			return nil, err
		}
		args = append(args, uint64(p))
	}
	args = append(args, uint64(n))
	if id == codec.Page {
		table, err := c.place("table", kernels.PageTable())
		if err != nil {
			return nil, err
		}
		args = append(args, uint64(table))
	}
	return args, nil
}

// decompressed compares a kernel's pages.
func (c *kernelCheck) decompressed(name string, b *bulk.Batch, items []int, args []uint64) error {
	n := len(items)
	if err := c.run(c.programs[name+"_decompress"], n, nil, args...); err != nil {
		return err
	}
	got := make([]byte, n*pageSize)
	if err := errors.Join(c.statuses(args, n), c.download(got, driver.Pointer(args[2]))); err != nil {
		return err
	}
	return inParallel(n, pageGrain, func(from, to int) error {
		for k := from; k < to; k++ {
			if !bytes.Equal(got[k*pageSize:(k+1)*pageSize], b.Page(items[k])) {
				return wrongPage(items[k])
			}
		}
		return nil
	})
}

// verified compares hashes.
func (c *kernelCheck) verified(name string, b *bulk.Batch, items []int, args []uint64) error {
	n := len(items)
	if err := c.run(c.programs[name+"_verify"], n, nil, args...); err != nil {
		return err
	}
	got := make([]byte, n*8)
	if err := errors.Join(c.statuses(args, n), c.download(got, driver.Pointer(args[2]))); err != nil {
		return err
	}
	return inParallel(n, pageGrain, func(from, to int) error {
		for k := from; k < to; k++ {
			if binary.LittleEndian.Uint64(got[8*k:]) != kernels.Hash(b.Page(items[k])) {
				return wrongPage(items[k])
			}
		}
		return nil
	})
}

// statuses wants each object's status to be StatusOK.
func (c *kernelCheck) statuses(args []uint64, n int) error {
	got := make([]byte, 4*n)
	if err := c.download(got, driver.Pointer(args[3])); err != nil {
		return err
	}
	for i := range n {
		if s := binary.LittleEndian.Uint32(got[4*i:]); s != kernels.StatusOK {
			return fmt.Errorf("object %d has status %d: %w", i, s, errWrong)
		}
	}
	return nil
}

// report reports the speeds.
func (c *kernelCheck) report() {
	c.proved("F036", "every kernel, byte for byte", fmt.Sprintf("%d %s pages of %d in a buffer", c.kernelPages, c.source.name(), c.bufferPages))
	want := map[string]float64{"lz4_decompress": 120, "page_decompress": 120, "lz4_compress": 50}
	for _, k := range kernels.All() {
		p := c.programs[k.Name]
		what, value := k.Name+", device-resident", speed(p.pages*pageSize, p.took)
		if w, ok := want[k.Name]; ok {
			c.least("F054", what, value, "GB/s", w)
		} else {
			c.figure(what, value, "GB/s")
		}
	}
	c.most("G.120", "lz4_compress: bytes beside package lz4's", float64(c.packed)/float64(c.stored), "", 1.05)
}
