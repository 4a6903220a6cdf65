// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"sync"
)

// defaultSlab is what a pool allocates at least, where its owner says nothing.
const defaultSlab = 32 << 20

// slabShare makes slabs grow with the pool: another is at least a part of what there is, so that
// there are never many.
const slabShare = 16

// largestSlab ends that growth.
const largestSlab = 512 << 20

// PoolStats say what a pool has.
type PoolStats struct {
	Held  int64 // bytes that are allocated
	Used  int64 // of these, bytes that somebody has, each range rounded up to 512
	Most  int64 // the most that was held
	Calls int   // for allocating and freeing slabs, also those that failed
	Gets  int64
}

// pool gives out parts of slabs, and keeps the slabs.
type pool[T any] struct {
	what  string // immutable, as what follows
	least int
	make  func(size int) (T, error)
	end   func(T) error

	mu     sync.Mutex // guards what follows
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

// get cuts a range off a slab.
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

// grow adds a slab that n bytes fit into. Where there is too little memory for a large one, unused
// slabs are given back and one of just n bytes is tried.
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

// put gives a range back.
func (p *pool[T]) put(s *span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranges.put(s)
}

// trim frees the slabs of which nobody has anything. p.mu is held.
func (p *pool[T]) trim() error {
	var errs []error
	for s, t := range p.slabs {
		if !s.empty() {
			continue
		}
		p.stats.Calls++
		// A slab that cannot be freed is forgotten too: it would not be freed the next time either. A
		// dead context has lost it already.
		if err := p.end(t); err != nil && !errors.Is(err, ErrDead) {
			errs = append(errs, fmt.Errorf("free a slab of %s: %w", p.what, err))
		}
		p.ranges.remove(s)
		delete(p.slabs, s)
	}
	return errors.Join(errs...)
}

// Trim gives memory that nobody has back to the device, or the machine.
func (p *pool[T]) Trim() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trim()
}

// Stats says what the pool has.
func (p *pool[T]) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Held, s.Used = p.ranges.held, p.ranges.used
	return s
}

// Close frees everything. It is an error if somebody still has a part, which stays allocated then,
// and may still be put back; Trim frees it after that.
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

// doFor is Do for what a function returns, which is nobody else's where that may still run.
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

// A DevicePool gives out device memory. It makes few calls however many Get and Put there are. What
// was put back is given out again at once, so nothing that a stream has yet to do may use it.
type DevicePool struct {
	*pool[Pointer]

	mu    sync.Mutex // guards given
	given map[Pointer]*span
}

// NewDevicePool makes a pool that allocates slab bytes at a time, or, for 0, 32 MiB.
func NewDevicePool(c *Context, slab int) *DevicePool {
	alloc := func(size int) (Pointer, error) {
		return doFor(c, func(t *Thread) (Pointer, error) { return t.Alloc("pool", size) })
	}
	free := func(p Pointer) error {
		return c.Do(func(t *Thread) error { return t.Free(p) })
	}
	return &DevicePool{pool: newPool("device memory", slab, alloc, free), given: map[Pointer]*span{}}
}

// Get returns n bytes at an address that is a multiple of 256. Their contents are anything.
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

// A HostPool gives out locked host memory, as a DevicePool does device memory.
type HostPool struct {
	*pool[Host]

	mu    sync.Mutex // guards given
	given map[*byte]*span
}

// NewHostPool makes a pool that allocates slab bytes at a time, or, for 0, 32 MiB.
func NewHostPool(c *Context, slab int) *HostPool {
	alloc := func(size int) (Host, error) {
		return doFor(c, func(t *Thread) (Host, error) { return t.AllocHost(size) })
	}
	free := func(h Host) error {
		return c.Do(func(t *Thread) error { return t.FreeHost(h) })
	}
	return &HostPool{pool: newPool("host memory", slab, alloc, free), given: map[*byte]*span{}}
}

// Get returns n bytes. Their contents are anything.
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
