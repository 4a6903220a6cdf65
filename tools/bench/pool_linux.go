// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/pagescan"
	"github.com/zramfs/zramfs/internal/pages/pagefile"
)

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
)

// A pool is memory full of real pages, outside the Go heap and aligned, that
// writes are made from without copying. It is immutable once it is loaded, and
// lives as long as the process.
type pool struct {
	// memory is a whole number of mebibytes.
	memory []byte
	// address is where memory begins.
	address uintptr
	// path is the page file.
	path string
	// lz4 is the ratio that LZ4 reaches on the pages, as a device counts it:
	// same-filled pages take nothing.
	lz4 float64
}

var errFewPages = errors.New("too few real pages")

// loadPool reads the page file. Pages that do not fill a mebibyte are left out.
func loadPool() (*pool, error) {
	path, err := pagefile.Find()
	if err != nil {
		return nil, fmt.Errorf("%w (go run ./tools/pagesample)", err)
	}
	programs, err := pagefile.Load(path)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, program := range programs {
		size += len(program.Pages)
	}
	if size < mebibyte {
		return nil, fmt.Errorf("load %s: %w: %d bytes", path, errFewPages, size)
	}
	size = size / mebibyte * mebibyte
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map pages: %w", err)
	}
	at := 0
	for _, program := range programs {
		at += copy(memory[at:], program.Pages)
	}
	out := &pool{memory: memory, address: addressOf(memory), path: path}
	out.lz4, err = lz4Ratio(out.memory)
	return out, err
}

// pages returns the number of pages in the pool.
func (p *pool) pages() int { return len(p.memory) / codec.PageSize }

func lz4Ratio(memory []byte) (float64, error) {
	stored := uint64(0)
	err := objects(memory, "lz4", func(n int) { stored += uint64(n) })
	return quotient(uint64(len(memory)), stored), err
}

// objects calls f with the length of each object of memory; same-filled pages have none.
func objects(memory []byte, algorithm string, f func(n int)) error {
	a, err := codec.Parse(algorithm)
	if err != nil {
		return err
	}
	compressor, err := a.NewCompressor()
	if err != nil {
		return err
	}
	dst := make([]byte, codec.PageSize)
	for at := 0; at < len(memory); at += codec.PageSize {
		page := memory[at : at+codec.PageSize]
		if _, same := pagescan.SameFilled(page); same {
			continue
		}
		_, n, err := compressor.Compress(dst, page)
		if err != nil {
			return err
		}
		f(n)
	}
	return nil
}

// zsmalloc's size classes are this far apart, and an object of at least zramHuge bytes takes a page
// (ZS_SIZE_CLASS_DELTA and huge_class_size in the kernel's mm/zsmalloc.c, with pages of 4 KiB).
const (
	zsmallocStep = 16
	zramHuge     = 3264
)

// zramBytes is what kernel zram would take for a page of memory at the least, in bytes, by the
// sizes of the objects that an algorithm makes: their classes and the table.
func zramBytes(memory []byte, algorithm string) (float64, error) {
	taken := uint64(0)
	err := objects(memory, algorithm, func(n int) {
		if n = (n + zsmallocStep - 1) / zsmallocStep * zsmallocStep; n >= zramHuge {
			n = codec.PageSize
		}
		taken += uint64(n)
	})
	return quotient(taken, uint64(len(memory)/codec.PageSize)) + zramTable, err
}
