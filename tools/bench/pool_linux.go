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
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map pages: %w", err)
	}
	at := 0
	for _, program := range programs {
		at += copy(memory[at:], program.Pages)
	}
	out := &pool{memory: memory[:size/mebibyte*mebibyte], address: addressOf(memory), path: path}
	out.lz4, err = lz4Ratio(out.memory)
	return out, err
}

// pages returns the number of pages in the pool.
func (p *pool) pages() int { return len(p.memory) / codec.PageSize }

func lz4Ratio(memory []byte) (float64, error) {
	algorithm, err := codec.Parse("lz4")
	if err != nil {
		return 0, err
	}
	compressor, err := algorithm.NewCompressor()
	if err != nil {
		return 0, err
	}
	dst := make([]byte, codec.PageSize)
	stored := uint64(0)
	for at := 0; at < len(memory); at += codec.PageSize {
		page := memory[at : at+codec.PageSize]
		if _, same := pagescan.SameFilled(page); same {
			continue
		}
		_, n, err := compressor.Compress(dst, page)
		if err != nil {
			return 0, err
		}
		stored += uint64(n)
	}
	return quotient(uint64(len(memory)), stored), nil
}
