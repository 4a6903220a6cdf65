// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/internal/pages"
)

// batches is a step: batches of all sizes.
func (r *rig) batches() error {
	err := r.withEngine(gpu.Options{Path: gpu.Copied, Compress: true}, func(e *gpu.Engine) error {
		cache := r.cacheBatch
		if cache == 0 {
			cache = e.Properties().L2 / pageSize
		}
		for _, size := range []int{1, 2, 7, 999, cache} {
			if r.simulated {
				size = min(size, cache)
			}
			if err := r.oneBatch(e, size); err != nil {
				return fmt.Errorf("a batch of %d pages: %w", size, err)
			}
			r.proved("F037 F038 F039", "a batch there and back", fmt.Sprintf("%d pages", size))
		}
		if err := r.straightBatch(e, min(cache, e.Limits().Max)); err != nil {
			return fmt.Errorf("a batch in memory that the device knows: %w", err)
		}
		return r.leaks(e)
	})
	if err != nil {
		return err
	}
	if err := r.thousand(); err != nil {
		return err
	}
	return r.onDevice(r.largestBatch)
}

// withEngine opens an engine for f and closes it.
func (r *rig) withEngine(o gpu.Options, f func(e *gpu.Engine) error) (err error) {
	library, err := r.find()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, library.Close()) }()
	o.Device, o.Driver.Limit = r.device, time.Minute
	if r.simulated {
		o.Batch = 64
	}
	e, err := gpu.Open(library, o)
	if err != nil {
		return err
	}
	return errors.Join(f(e), e.Close())
}

// whole returns the piece that is all of a batch.
func whole(b *bulk.Batch) bulk.Piece {
	items := make([]uint32, b.N)
	for i := range items {
		items[i] = uint32(i)
	}
	return bulk.Piece{Batch: b, Items: items}
}

// oneBatch has the engine alone compress pages of all kinds and decompress them again.
func (r *rig) oneBatch(e *gpu.Engine, size int) error {
	b := bulk.NewBatch(bulk.Compress, size)
	b.Pages = bytes.Join(pages.Mix(size, uint64(size)), nil)
	return r.thereAndBack(e, b, make([]byte, len(b.Pages)))
}

// straightBatch does a batch whose pages and objects the device reads and writes in place, without
// staging buffers.
func (r *rig) straightBatch(e *gpu.Engine, size int) (err error) {
	memory, unmap, err := mapMemory(3 * size * pageSize)
	if err != nil {
		return err
	}
	if err := errors.Join(e.SetPath(gpu.Straight), e.Register(memory, true)); err != nil {
		return errors.Join(err, unmap())
	}
	defer func() { err = errors.Join(err, e.SetPath(gpu.Copied), e.Unregister(memory), unmap()) }()
	part := func(i int) []byte { return memory[i*size*pageSize:][:size*pageSize] }
	b := bulk.NewBatch(bulk.Compress, size)
	b.Pages, b.Arena = part(0), part(1)
	copy(b.Pages, bytes.Join(pages.Generate(pages.Text, size, uint64(size)), nil))
	before := e.Stats(bulk.Decompress).Straight + e.Stats(bulk.Compress).Straight
	if err := r.thereAndBack(e, b, part(2)); err != nil {
		return err
	}
	moved := e.Stats(bulk.Decompress).Straight + e.Stats(bulk.Compress).Straight - before
	if moved < 2*int64(size)*pageSize {
		return fmt.Errorf("of %d pages, %d bytes went straight: %w", size, moved, errWrong)
	}
	r.proved("", "a batch there and back, straight", fmt.Sprintf("%d pages", size))
	return nil
}

// thereAndBack compresses the batch's pages and decompresses the objects into back.
func (r *rig) thereAndBack(e *gpu.Engine, b *bulk.Batch, back []byte) error {
	sent, size := b.Pages, b.N
	b.Regions = [][]byte{b.Arena, b.Pages}
	p := whole(b)
	if _, err := e.Do(r.ctx, 0, p); err != nil {
		return err
	}
	b.Op, b.Pages = bulk.Decompress, back
	for i := range size {
		if b.Verdict[i] != bulk.Done {
			return fmt.Errorf("compress page %d: %s: %w", i, b.Verdict[i], errWrong)
		}
		if b.ID[i] == codec.Raw { // the page itself: not for the engine
			copy(b.Page(i), sent[i*pageSize:])
			continue
		}
		b.Verdict[i] = bulk.Pending
	}
	if _, err := e.Do(r.ctx, 0, p); err != nil {
		return err
	}
	for i := range size {
		if b.Verdict[i] != bulk.Done {
			return fmt.Errorf("decompress page %d: %s: %w", i, b.Verdict[i], errWrong)
		}
	}
	return pagesEqual(b.Pages, sent)
}

// leakLimit is the memory that a driver may take for itself during the batches, in bytes.
const leakLimit = 4 << 20

// leaks is F040: small batches leave no device memory allocated.
func (r *rig) leaks(e *gpu.Engine) error {
	return r.onDevice(func(d *device) error {
		memory := make([]byte, 7*pageSize)
		r.source.fill(memory, 40)
		b, err := r.cpuObjects("page", memory)
		if err != nil {
			return err
		}
		b.Op, b.Pages = bulk.Decompress, make([]byte, len(memory))
		p := whole(b)
		if _, err := e.Do(r.ctx, 0, p); err != nil { // loads the kernel
			return err
		}
		before, err := d.free()
		if err != nil {
			return err
		}
		start := time.Now()
		for i := range r.leakBatches {
			clear(b.Verdict)
			if _, err := e.Do(r.ctx, 0, bulk.Piece{Batch: b, Items: p.Items[:1+i%7]}); err != nil {
				return err
			}
		}
		took := time.Since(start)
		after, err := d.free()
		if err != nil {
			return err
		}
		// Leaking a pool's smallest part for each batch would lose 50 MB.
		r.most("F040", fmt.Sprintf("device memory that %d batches of 1 to 7 pages keep", r.leakBatches), float64(before-after), "B", leakLimit)
		r.figure("one of these batches", float64(took.Microseconds())/float64(r.leakBatches), "us")
		if before-after > leakLimit {
			return fmt.Errorf("%d bytes of device memory are lost", before-after)
		}
		return nil
	})
}

// free returns the free memory of the device, in bytes.
func (d *device) free() (free int64, err error) {
	err = d.Do(func(t *driver.Thread) error {
		free, _, err = t.MemoryInfo()
		return err
	})
	return free, err
}

// thousand is G.108 to G.110: a batch of 1,000 pages goes to the device at once and comes back
// equal.
func (r *rig) thousand() error {
	const size = 1000
	library, err := r.find()
	if err != nil {
		return err
	}
	e, err := gpu.Open(library, gpu.Options{Device: r.device, Batch: size, Path: gpu.Copied, Driver: driver.Options{Limit: time.Minute}})
	if err != nil {
		return errors.Join(err, library.Close())
	}
	planner, err := newPlanner("lz4", []bulk.Engine{e}, bulk.Config{Mode: bulk.EnginesAlone, Piece: size, Items: size})
	if err != nil {
		return errors.Join(err, e.Close(), library.Close())
	}
	return errors.Join(r.thousandOf(planner, size), planner.Close(), library.Close())
}

func (r *rig) thousandOf(planner *bulk.Planner, size int) error {
	memory := bytes.Join(pages.Generate(pages.Text, size, 108), nil) // no raw page
	b, err := r.cpuObjects("lz4", memory)
	if err != nil {
		return err
	}
	b.Op, b.Pages = bulk.Decompress, make([]byte, len(memory))
	var report bulk.Report
	if err := planner.Run(r.ctx, b, &report); err != nil {
		return err
	}
	if err := pagesEqual(b.Pages, memory); err != nil {
		return err
	}
	by := report.Engines[1]
	if by.Items != size || by.Pieces != 1 {
		return fmt.Errorf("the GPU did %d pages of %d in %d pieces: %w", by.Items, size, by.Pieces, errWrong)
	}
	r.proved("G.108 G.109 G.110", "a batch for the GPU", fmt.Sprintf("gpu_pages %d, batch_flushes %d, equal", by.Items, by.Pieces))
	return nil
}

// largestDistinct is the number of distinct objects that the largest batch repeats.
const largestDistinct = 512

// largestBatch is F038: the most pages in one launch that the device has memory for.
func (r *rig) largestBatch(d *device) error {
	free, err := d.free()
	if err != nil {
		return err
	}
	size := min(r.largest, int((free-free/16)/(pageSize+16)))
	all, err := programs()
	if err != nil {
		return err
	}
	c := &kernelCheck{rig: r, device: d, programs: all}
	memory := bytes.Join(pages.Generate(pages.Pointers, min(largestDistinct, size), 38), nil)
	b, err := r.cpuObjects("lz4", memory)
	if err != nil {
		return err
	}
	arena, err := c.place("objects", b.Arena)
	if err != nil {
		return err
	}
	var addresses, lengths []byte
	for i := range size {
		addresses = binary.LittleEndian.AppendUint64(addresses, uint64(arena)+b.Offset[i%b.N])
		lengths = binary.LittleEndian.AppendUint32(lengths, b.Length[i%b.N])
	}
	args, err := c.readingArgs(addresses, lengths, codec.LZ4)
	if err != nil {
		return err
	}
	if err := c.run(all["lz4_decompress"], size, nil, args...); err != nil {
		return err
	}
	if err := c.statuses(args, size); err != nil {
		return err
	}
	return r.largestPages(c, memory, driver.Pointer(args[2]), size)
}

// largestPages compares a part of the pages, the last included.
func (r *rig) largestPages(c *kernelCheck, memory []byte, at driver.Pointer, size int) error {
	distinct := len(memory) / pageSize
	got := make([]byte, len(memory))
	step := max(distinct, size/16/distinct*distinct)
	for first := 0; first < size; first += step {
		first = min(first, (size-distinct)/distinct*distinct)
		if err := c.download(got, at+driver.Pointer(first*pageSize)); err != nil {
			return err
		}
		if err := pagesEqual(got, memory); err != nil {
			return fmt.Errorf("from page %d on: %w", first, err)
		}
		if first+step > size-distinct {
			break
		}
	}
	p := c.programs["lz4_decompress"]
	r.proved("F038", "the largest batch that fits", fmt.Sprintf("%d pages, %.1f GB", size, float64(size)*pageSize/1e9))
	r.figure("which is decompressed at", speed(p.pages*pageSize, p.took), "GB/s")
	return c.release()
}
