// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"runtime"
	"sync"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/imaging"
)

const (
	// largeBatch is the pages of a batch where there are engines beside the CPU: 10^10 bytes.
	largeBatch = (10_000_000_000 + pageSize - 1) / pageSize
	// benchShares is the part of the free memory, one in so many, that the pages of a batch may take.
	// A batch takes three times as much: pages, objects, and pages again.
	benchShares = 4
)

// fitting returns how many of pages fit into memory, 1 at least.
func fitting(m host.Root, pages int) (int, error) {
	room, err := m.Headroom()
	if err != nil {
		return 0, err
	}
	return max(1, int(min(uint64(pages), room/benchShares/pageSize))), nil
}

// benchBuffers are the memory of a bulkRun.
type benchBuffers struct {
	mapped [][]byte
	torn   bool // a device may still write there
}

// alloc makes n bytes, outside of Go's heap if engines are to be told of them.
func (b *benchBuffers) alloc(n int, outside bool) ([]byte, error) {
	if !outside {
		return make([]byte, n), nil
	}
	m, err := imaging.MapBuffer(n)
	if err != nil {
		return nil, err
	}
	b.mapped = append(b.mapped, m)
	return m[:n], nil
}

// close gives all back. Nobody may use it any more.
func (b *benchBuffers) close() error {
	var errs []error
	for _, m := range b.mapped {
		if !b.torn {
			errs = append(errs, imaging.UnmapBuffer(m))
		}
	}
	b.mapped = nil
	return errors.Join(errs...)
}

// inParts calls f for parts of n pages, on all cores at once, and returns when all are done.
func inParts(n int, f func(from, to int)) {
	parts := min(n, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() { f(i*n/parts, (i+1)*n/parts) })
	}
	all.Wait()
}
