// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"errors"
	"fmt"
)

const (
	pageSize = 4096

	// MinPayload is the smallest payload buffer that the kernel takes, in bytes
	// (FUSE_MIN_READ_BUFFER).
	MinPayload = 8192
	// MaxEntries bounds Config.Entries; io_uring takes no more than 32768 a ring.
	MaxEntries = 4096
)

// ErrConfig: a Config that cannot be served.
var ErrConfig = errors.New("unusable ring configuration")

// A Config is the geometry, memory and handler of rings.
type Config struct {
	// CPUs comes from [ReadCPUs].
	CPUs CPUs
	// Entries is how many requests a queue holds at a time, 1 to [MaxEntries].
	Entries int
	// Payload is the size of an entry's buffer in bytes: a multiple of 4096, and at least
	// [MinPayload], the max_write and the max_pages (times 4096) of INIT. The kernel refuses a
	// smaller one when Start registers it.
	Payload int
	// Memory holds all entries. It is Size bytes, begins on a page, and must stay mapped at its
	// address as long as the rings serve.
	Memory []byte
	// Handle calls Answer or Refuse on a request, in the thread of a worker (0 to
	// CPUs.Workers()-1). Each worker handles one request at a time. A handler that is about to wait
	// calls [Rings.Send] first.
	Handle func(worker int, r *Request)
}

// Size returns how much memory the configuration needs, in bytes.
func (c Config) Size() int {
	n := c.CPUs.total(c.Entries)
	return headArea(n) + n*c.Payload
}

// headArea returns the space for n slots, in whole pages: the buffers behind them begin on a page
// each.
func headArea(n int) int { return (n*slotSize + pageSize - 1) &^ (pageSize - 1) }

func (c Config) check() error {
	switch {
	case c.CPUs.queues == 0:
		return fmt.Errorf("%w: no CPUs", ErrConfig)
	case c.Entries < 1 || c.Entries > MaxEntries:
		return fmt.Errorf("%w: %d entries, not 1 to %d", ErrConfig, c.Entries, MaxEntries)
	case c.Payload < MinPayload || c.Payload%pageSize != 0:
		return fmt.Errorf("%w: a payload of %d bytes, not a multiple of %d from %d on", ErrConfig, c.Payload, pageSize, MinPayload)
	case len(c.Memory) < c.Size() || !aligned(c.Memory):
		return fmt.Errorf("%w: %d bytes of memory, not %d that begin on a page", ErrConfig, len(c.Memory), c.Size())
	case c.Handle == nil:
		return fmt.Errorf("%w: no handler", ErrConfig)
	}
	return nil
}

// A tuning holds parameters chosen by measuring; tests measure with others.
type tuning struct {
	setup uint32 // flags of io_uring_setup
	pin   bool   // bind each worker to its CPU
	batch int    // bytes answered before they are sent
	help  int    // bytes of waiting work before another worker is woken
}

var defaultTuning = tuning{setup: defaultSetup, pin: true, batch: 64 << 10, help: 16 << 10}
