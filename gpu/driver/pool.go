// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"sync"
)

// defaultSlab is the least that a pool allocates, unless its owner says otherwise.
const defaultSlab = 32 << 20

// slabShare makes slabs grow with the pool: a new one is at least this part of the total, which
// keeps their number small.
const slabShare = 16

// largestSlab limits that growth.
const largestSlab = 512 << 20

// PoolStats are a pool's counts.
type PoolStats struct {
	Held  int64 // bytes that are allocated
	Used  int64 // of these, bytes in use, each range rounded up to 512
	Most  int64 // the most that was held
	Calls int   // for allocating and freeing slabs, also those that failed
	Gets  int64
}

// pool allocates ranges of slabs, and keeps the slabs.
type pool[T any] struct {
	what  string // immutable, as the following fields
	least int
	make  func(size int) (T, error)
	end   func(T) error

	mu     sync.Mutex // guards the following fields
	ranges ranges
	slabs  map[*slab]T
	stats  PoolStats
	closed bool
}

func newPool[T any](what string, least int, alloc func(size int) (T, error), free func(T) error) *pool[T] {
	if least <= 0 {
		least = defaultSlab
	}
	return &pool[T]{what: what, least: rounded(least), make: alloc, end: free, slabs: map[*slab]T{}}
}

// get allocates a range of a slab.
func (p *pool[T]) get(n int) (*span, T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var none T
	if p.closed {
		return nil, none, fmt.Errorf("%s: %w", p.what, ErrClosed)
	}
	if n <= 0 {
		return nil, none, fmt.Errorf("%w: %d bytes of %s", ErrArgument, n, p.what)
	}
	s := p.ranges.cut(n)
	if s == nil {
		if err := p.grow(n); err != nil {
			return nil, none, fmt.Errorf("%d bytes of %s, of which %d are held and %d used: %w", n, p.what, p.ranges.held, p.ranges.used, err)
		}
		s = p.ranges.cut(n)
	}
	p.stats.Gets++
	return s, p.slabs[s.slab], nil
}

// grow adds a slab of at least n bytes. If there is too little memory it frees unused slabs and
// tries one of just n bytes.
func (p *pool[T]) grow(n int) error {
	n = rounded(n)
	size := max(n, p.least, min(rounded(int(p.ranges.held/slabShare)), largestSlab))
	t, err := p.allocate(size)
	if errors.Is(err, OutOfMemory) && (size > n || p.ranges.held > p.ranges.used) {
		if err := p.trim(); err != nil {
			return err
		}
		size = n
		t, err = p.allocate(size)
	}
	if err != nil {
		return err
	}
	p.slabs[p.ranges.add(size)] = t
	p.stats.Most = max(p.stats.Most, p.ranges.held)
	return nil
}

func (p *pool[T]) allocate(size int) (T, error) {
	p.stats.Calls++
	return p.make(size)
}

// put frees a range.
func (p *pool[T]) put(s *span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranges.put(s)
}

// trim frees the unused slabs. p.mu is held.
func (p *pool[T]) trim() error {
	var errs []error
	for s, t := range p.slabs {
		if !s.empty() {
			continue
		}
		p.stats.Calls++
		// A slab that cannot be freed is forgotten: it would not be freed the next time either. A
		// dead context has lost it already.
		if err := p.end(t); err != nil && !errors.Is(err, ErrDead) {
			errs = append(errs, fmt.Errorf("free a slab of %s: %w", p.what, err))
		}
		p.ranges.remove(s)
		delete(p.slabs, s)
	}
	return errors.Join(errs...)
}

// Trim returns unused slabs to the device, or the machine.
func (p *pool[T]) Trim() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trim()
}

// Stats returns the pool's counts.
func (p *pool[T]) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Held, s.Used = p.ranges.held, p.ranges.used
	return s
}

// Close frees all slabs. It fails if ranges are in use; their slabs stay allocated, the ranges may
// still be put back, and Trim then frees the slabs.
func (p *pool[T]) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	err := p.trim()
	if p.ranges.used > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d bytes of %s are still used", ErrArgument, p.ranges.used, p.what))
	}
	return err
}

// doFor is Do for a function with a result. After an error the function may still run, so its
// result is ignored.
func doFor[T any](c *Context, f func(*Thread) (T, error)) (T, error) {
	var answer, none T
	err := c.Do(func(t *Thread) (err error) {
		answer, err = f(t)
		return err
	})
	if err != nil {
		return none, err
	}
	return answer, nil
}

// A DevicePool allocates device memory. Few calls of the driver serve many of Get and Put. Put
// memory may be allocated again at once, so no pending work of a stream may use it.
type DevicePool struct {
	*pool[Pointer]

	mu    sync.Mutex // guards given
	given map[Pointer]*span
}

// NewDevicePool makes a pool that allocates slab bytes at a time; 0 means 32 MiB.
func NewDevicePool(c *Context, slab int) *DevicePool {
	alloc := func(size int) (Pointer, error) {
		return doFor(c, func(t *Thread) (Pointer, error) { return t.Alloc("pool", size) })
	}
	free := func(p Pointer) error {
		return c.Do(func(t *Thread) error { return t.Free(p) })
	}
	return &DevicePool{pool: newPool("device memory", slab, alloc, free), given: map[Pointer]*span{}}
}

// Get returns n bytes at an address that is a multiple of 256. Their contents are undefined.
func (p *DevicePool) Get(n int) (Pointer, error) {
	s, base, err := p.get(n)
	if err != nil {
		return 0, err
	}
	at := base + Pointer(s.off)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given[at] = s
	return at, nil
}

// Put gives back what Get returned.
func (p *DevicePool) Put(at Pointer) error {
	p.mu.Lock()
	s := p.given[at]
	delete(p.given, at)
	p.mu.Unlock()
	if s == nil {
		return fmt.Errorf("%w: %#x is not of this pool", ErrArgument, uint64(at))
	}
	p.put(s)
	return nil
}

// A HostPool allocates locked host memory, as a DevicePool does device memory.
type HostPool struct {
	*pool[Host]

	mu    sync.Mutex // guards given
	given map[*byte]*span
}

// NewHostPool makes a pool that allocates slab bytes at a time; 0 means 32 MiB.
func NewHostPool(c *Context, slab int) *HostPool {
	alloc := func(size int) (Host, error) {
		return doFor(c, func(t *Thread) (Host, error) { return t.AllocHost(size) })
	}
	free := func(h Host) error {
		return c.Do(func(t *Thread) error { return t.FreeHost(h) })
	}
	return &HostPool{pool: newPool("host memory", slab, alloc, free), given: map[*byte]*span{}}
}

// Get returns n bytes. Their contents are undefined.
func (p *HostPool) Get(n int) (Host, error) {
	s, slab, err := p.get(n)
	if err != nil {
		return Host{}, err
	}
	h := slab.Slice(s.off, n)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given[&h.bytes[0]] = s
	return h, nil
}

// Put gives back what Get returned.
func (p *HostPool) Put(h Host) error {
	if len(h.bytes) == 0 {
		return fmt.Errorf("%w: no memory to put back", ErrArgument)
	}
	p.mu.Lock()
	s := p.given[&h.bytes[0]]
	delete(p.given, &h.bytes[0])
	p.mu.Unlock()
	if s == nil {
		return fmt.Errorf("%w: host memory that is not of this pool", ErrArgument)
	}
	p.put(s)
	return nil
}
