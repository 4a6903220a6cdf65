// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"runtime"
	"sync"

	"github.com/zramfs/zramfs/internal/imageio"
)

const (
	// largeBatch is the default pages of a batch with engines other than the CPU: 10^10 bytes.
	largeBatch = (10_000_000_000 + pageSize - 1) / pageSize
	// memoryShares divides the free memory: the pages of a batch take at most one share, and three
	// buffers are that large: for pages, objects and decompressed pages.
	memoryShares = 4
)

// fitting returns the number of pages of a batch that fit into room bytes of memory, at least 1 and
// at most pages.
func fitting(room uint64, pages int) int {
	return max(1, int(min(uint64(pages), room/memoryShares/pageSize)))
}

// buffers own the memory of a bulkRun.
type buffers struct {
	mapped [][]byte
	torn   bool // a device may still write to them
}

// alloc makes n bytes: outside Go's heap for registration with engines, else on it.
func (b *buffers) alloc(n int, outside bool) ([]byte, error) {
	if !outside {
		return make([]byte, n), nil
	}
	m, err := imageio.MapBuffer(n)
	if err != nil {
		return nil, err
	}
	b.mapped = append(b.mapped, m)
	return m[:n], nil
}

// close unmaps the memory, which must not be used afterwards. Torn memory stays mapped.
func (b *buffers) close() error {
	var errs []error
	for _, m := range b.mapped {
		if !b.torn {
			errs = append(errs, imageio.UnmapBuffer(m))
		}
	}
	b.mapped = nil
	return errors.Join(errs...)
}

// inParts calls f for parts of n pages, in parallel on all cores, and waits for all calls.
func inParts(n int, f func(from, to int)) {
	parts := min(n, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() { f(i*n/parts, (i+1)*n/parts) })
	}
	all.Wait()
}
