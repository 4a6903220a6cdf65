// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
)

// packed is the output of the compressing kernel.
type packed struct{ results, arena []byte }

// compressing has the device compress pages and prove the objects. It compares these with those of
// package kernels' own encoder on the CPU, their decompressed pages with the pages, and the proofs.
func (c *kernelCheck) compressing(memory []byte) error {
	n := len(memory) / pageSize
	got, err := c.compressed(memory)
	if err != nil {
		return err
	}
	var bytesHere, bytesCPU atomic.Int64
	err = inParallel(n, pageGrain, func(from, to int) error {
		check := &objectCheck{cpu: new(lz4.Encoder)}
		for i := from; i < to; i++ {
			r := kernels.ReadResult(got.results[i*kernels.ResultSize:])
			if err := check.object(r, memory[i*pageSize:(i+1)*pageSize], got.arena); err != nil {
				return fmt.Errorf("lz4_compress: page %d: %w", i, err)
			}
		}
		bytesHere.Add(int64(check.here))
		bytesCPU.Add(int64(check.there))
		return nil
	})
	c.packed += int(bytesHere.Load())
	c.stored += int(bytesCPU.Load())
	return err
}

// compressed runs the compressing and the proving kernel.
func (c *kernelCheck) compressed(memory []byte) (got packed, err error) {
	n := len(memory) / pageSize
	from, err := c.place("pages", memory)
	if err != nil {
		return got, err
	}
	var p [3]driver.Pointer // results, arena, cursor
	for i, size := range []int{n * kernels.ResultSize, n * pageSize, kernels.GranuleSize * 2} {
		if p[i], err = c.alloc("results", size); err != nil {
			return got, err
		}
	}
	granules := n * pageSize / kernels.GranuleSize
	restart := func() error { return c.clear(p[2], kernels.GranuleSize*2) }
	err = c.run(c.programs["lz4_compress"], n, restart, uint64(from), uint64(p[0]), uint64(p[1]), uint64(p[2]), uint64(granules), limit, uint64(n))
	if err != nil {
		return got, err
	}
	cursor := make([]byte, 4)
	if err := c.download(cursor, p[2]); err != nil {
		return got, err
	}
	taken := int(binary.LittleEndian.Uint32(cursor))
	if taken > granules {
		return got, fmt.Errorf("lz4_compress: %d granules of %d: %w", taken, granules, errWrong)
	}
	if err := c.run(c.programs["lz4_prove"], n, nil, uint64(p[0]), uint64(p[1]), uint64(n)); err != nil {
		return got, err
	}
	got = packed{make([]byte, n*kernels.ResultSize), make([]byte, taken*kernels.GranuleSize)}
	if err := c.download(got.results, p[0]); err != nil {
		return got, err
	}
	return got, c.download(got.arena, p[1])
}

// An objectCheck checks objects and compares their bytes with those of package lz4.
type objectCheck struct {
	encoder      kernels.Encoder
	cpu          *lz4.Encoder
	want, back   [pageSize]byte
	here, there  int
	compressions int
}

func (c *objectCheck) object(r kernels.Result, page, arena []byte) error {
	switch r.Kind {
	case kernels.KindSame:
		if !sameFilled(page) || r.Word != binary.LittleEndian.Uint64(page) {
			return fmt.Errorf("same-filled page: %w", errWrong)
		}
		return nil
	case kernels.KindRaw:
		if n := c.encoder.Compress(c.want[:limit], page); n != 0 {
			return fmt.Errorf("raw instead of %d bytes: %w", n, errWrong)
		}
	case kernels.KindLZ4:
		if end := r.Offset + uint64(r.Length); end > uint64(len(arena)) {
			return fmt.Errorf("%d bytes at %d of %d: %w", r.Length, r.Offset, len(arena), errWrong)
		}
		if err := c.lz4(arena[r.Offset:r.Offset+uint64(r.Length)], page); err != nil {
			return err
		}
		if r.Hash != kernels.Hash(page) || r.Word != kernels.Hash(arena[r.Offset:r.Offset+uint64(r.Length)]) {
			return fmt.Errorf("proof: %w", errWrong)
		}
	default:
		return fmt.Errorf("kind %s: %w", r.Kind, errWrong)
	}
	if c.compressions++; c.compressions%8 != 0 { // package lz4's encoder is slow: sample
		return nil
	}
	n, err := c.cpu.Compress(c.back[:limit], page)
	if err != nil || n == 0 {
		n = pageSize
	}
	c.there += n
	if r.Kind == kernels.KindRaw {
		r.Length = pageSize
	}
	c.here += int(r.Length)
	return nil
}

// lz4 wants an object to equal the CPU's and to decompress to the page.
func (c *objectCheck) lz4(object, page []byte) error {
	if n := c.encoder.Compress(c.want[:limit], page); !bytes.Equal(object, c.want[:n]) {
		return fmt.Errorf("%d bytes instead of %d: %w", len(object), n, errWrong)
	}
	if err := lz4.Decompress(c.back[:], object); err != nil {
		return err
	}
	if !bytes.Equal(c.back[:], page) {
		return fmt.Errorf("decompressed: %w", errWrong)
	}
	return nil
}
