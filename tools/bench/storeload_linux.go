// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
)

// A storeLoad does the same to one device after the other. The content of a page follows from its
// number and from how often the load has written it. It belongs to one goroutine at a time.
type storeLoad struct {
	source *source
	pages  int
	buffer []byte // for direct I/O
	// written is what each page holds, a number of the source, or freed. It is that of the first
	// device during a phase, and the same for the others after it.
	written []uint32
}

const (
	freed     = ^uint32(0)
	mostPages = 64 // of an overwrite

	storeRequests = 2000 // whose latency is measured, reads and as many writes
	requestPause  = time.Millisecond

	// restVersion and busyVersion are of what is written while latencies are measured.
	restVersion = 1
	busyVersion = 2
)

func newStoreLoad(pool *pool, size int64) (*storeLoad, error) {
	buffer, err := unix.Mmap(-1, 0, mebibyte, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map a buffer: %w", err)
	}
	pages := int(size / codec.PageSize)
	return &storeLoad{source: newSource(pool.memory), pages: pages, buffer: buffer, written: make([]uint32, pages)}, nil
}

// onDevice opens a device for f.
func onDevice(path string, f func(fd int) error) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return errors.Join(f(fd), unix.Close(fd))
}

// prepare makes the version-th content of n pages from first on.
func (l *storeLoad) prepare(first, n, version int) {
	for i := range n {
		number := first + i + version*l.pages
		l.source.write(l.buffer[i*codec.PageSize:(i+1)*codec.PageSize], number)
		l.written[first+i] = uint32(number)
	}
}

// put writes what was prepared.
func (l *storeLoad) put(fd, first, n int) error {
	wrote, err := unix.Pwrite(fd, l.buffer[:n*codec.PageSize], int64(first)*codec.PageSize)
	if err == nil && wrote != n*codec.PageSize {
		err = fmt.Errorf("%d bytes of %d", wrote, n*codec.PageSize)
	}
	return err
}

// fill writes each page once, in order: pace MiB a second, or as fast as the device takes them
// where pace is 0.
func (l *storeLoad) fill(ctx context.Context, path string, pace int) error {
	began := time.Now()
	return onDevice(path, func(fd int) error {
		const each = mebibyte / codec.PageSize
		for first := 0; first < l.pages && ctx.Err() == nil; first += each {
			n := min(each, l.pages-first)
			l.prepare(first, n, 0)
			if err := l.put(fd, first, n); err != nil {
				return err
			}
			if pace > 0 {
				time.Sleep(time.Until(began.Add(time.Duration(first/each+1) * time.Second / time.Duration(pace))))
			}
		}
		return nil
	})
}

// churn overwrites pieces of up to mostPages pages at random, a number of times the device in all.
func (l *storeLoad) churn(ctx context.Context, path string, times int) error {
	rng := rand.New(rand.NewPCG(1, 2))
	return onDevice(path, func(fd int) error {
		for left, n := times*l.pages, 1; left > 0 && ctx.Err() == nil; n++ {
			pages := 1 + rng.IntN(mostPages)
			first := rng.IntN(l.pages - pages)
			l.prepare(first, pages, busyVersion+n%16)
			if err := l.put(fd, first, pages); err != nil {
				return err
			}
			left -= pages
		}
		return nil
	})
}

// free punches four fifths of the pages out, which both devices take as they take discards.
func (l *storeLoad) free(ctx context.Context, path string) error {
	rng := rand.New(rand.NewPCG(3, 4))
	return onDevice(path, func(fd int) error {
		for page := range l.pages {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if rng.IntN(5) == 0 {
				continue
			}
			const punch = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
			if err := unix.Fallocate(fd, punch, int64(page)*codec.PageSize, codec.PageSize); err != nil {
				return fmt.Errorf("free page %d: %w", page, err)
			}
			l.written[page] = freed
		}
		return nil
	})
}

// latencies reads pages with even numbers at random, one at a time with pauses, and writes the
// version-th content of as many with odd numbers: what is read is the same on each device.
func (l *storeLoad) latencies(path string, version int) (storeLatency, error) {
	rng := rand.New(rand.NewPCG(5, uint64(version)))
	reads, writes := &histogram{}, &histogram{}
	err := onDevice(path, func(fd int) error {
		for range storeRequests {
			page := rng.IntN(l.pages) &^ 1
			began := time.Now()
			if _, err := unix.Pread(fd, l.buffer[:codec.PageSize], int64(page)*codec.PageSize); err != nil {
				return err
			}
			reads.add(time.Since(began))
			if !l.holds(l.buffer[:codec.PageSize], page) {
				return fmt.Errorf("page %d is wrong", page)
			}
			time.Sleep(requestPause)
			page = rng.IntN(l.pages) | 1
			l.prepare(page, 1, version)
			began = time.Now()
			if err := l.put(fd, page, 1); err != nil {
				return err
			}
			writes.add(time.Since(began))
			time.Sleep(requestPause)
		}
		return nil
	})
	return storeLatency{Read: percentiles(reads), Write: percentiles(writes)}, err
}

func percentiles(h *histogram) figure {
	return figure{P50: float64(h.percentile(0.50)) / 1e3, P99: float64(h.percentile(0.99)) / 1e3}
}

// holds reports whether memory is what a page holds.
func (l *storeLoad) holds(memory []byte, page int) bool {
	if l.written[page] != freed {
		return l.source.holds(memory, int(l.written[page]))
	}
	for _, b := range memory {
		if b != 0 {
			return false
		}
	}
	return true
}

// check reads the whole device.
func (l *storeLoad) check(path string) error {
	return onDevice(path, func(fd int) error {
		const each = mebibyte / codec.PageSize
		for first := 0; first < l.pages; first += each {
			n := min(each, l.pages-first)
			if _, err := unix.Pread(fd, l.buffer[:n*codec.PageSize], int64(first)*codec.PageSize); err != nil {
				return err
			}
			for i := range n {
				if !l.holds(l.buffer[i*codec.PageSize:(i+1)*codec.PageSize], first+i) {
					return fmt.Errorf("page %d is wrong", first+i)
				}
			}
		}
		return nil
	})
}
