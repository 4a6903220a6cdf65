// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Access says how kernels may use a buffer. The host may always write.
type Access int

// The kinds of access.
const (
	ReadWrite Access = iota
	ReadOnly
)

// A buffer begins lead bytes into a window of 4 GiB that no other buffer ever has: an address
// beyond either end, or cut to 32 bits, lies in no other buffer.
const (
	windowShift = 32
	lead        = 1 << 28
	largest     = 1<<windowShift - 2*lead

	// poison fills new memory: a copy of it to the host stands out.
	poison = 0xCC

	// remembered is how many freed buffers keep their names.
	remembered = 1024
)

// Spec describes a buffer to allocate.
type Spec struct {
	Name   string // its name in faults
	Size   int    // bytes
	Stride int    // bytes an element, for faults only: 0 means no array
	Access Access
}

// Memory is a device's global memory: buffers that come and go. Its methods may be called at any
// time, also while kernels run.
type Memory struct {
	limit int64 // immutable

	// strong guards the bytes in atomic and volatile accesses, which several blocks may make to the
	// same bytes. It is taken before mu.
	strong sync.Mutex

	mu     sync.RWMutex       // guards the following fields
	live   map[uint32]*buffer // by window
	freed  []*buffer          // the last ones, a ring
	next   uint32             // window
	used   int64
	allocs int64
}

type buffer struct {
	spec     Spec // immutable
	base     uint64
	borrowed bool // immutable: the bytes are the host's, and not counted

	// contents is nil once the buffer was freed. Loads and stores under way keep the contents that
	// they have.
	contents atomic.Pointer[contents]
}

// contents are the bytes of a buffer. Blocks that touch the same byte without
// order are stopped by the shadow before they touch these slices.
type contents struct {
	data   []byte
	init   []byte      // a byte each: 1 once it was written; nil when all are
	access Access      // immutable; Protect makes another contents
	atomic *sync.Mutex // guards data in atomic instructions
}

// NewMemory makes a memory of limit bytes.
func NewMemory(limit int64) *Memory {
	return &Memory{limit: limit, live: map[uint32]*buffer{}, next: 1}
}

// Alloc makes a buffer of uninitialised bytes and returns its address, a
// multiple of 256.
func (m *Memory) Alloc(s Spec) (uint64, error) {
	if s.Size <= 0 || s.Size > largest {
		return 0, fmt.Errorf("%w: %s: a buffer of %d bytes", ErrOutOfMemory, s.Name, s.Size)
	}
	c := &contents{access: s.Access}
	b := &buffer{spec: s}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used+int64(s.Size) > m.limit {
		return 0, fmt.Errorf("%w: %s: %d bytes wanted, %d free", ErrOutOfMemory, s.Name, s.Size, m.limit-m.used)
	}
	c.data, c.init = make([]byte, s.Size), make([]byte, s.Size)
	fill(c.data, poison)
	return m.add(b, c), nil
}

// Map makes the host's bytes a buffer of the same size, as registering host memory does.
// They count as initialised, and not as the device's.
func (m *Memory) Map(s Spec, host []byte) (uint64, error) {
	if len(host) == 0 || len(host) > largest {
		return 0, fmt.Errorf("%w: %s: %d bytes of host memory", ErrOutOfMemory, s.Name, len(host))
	}
	s.Size = len(host)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.add(&buffer{spec: s, borrowed: true}, &contents{data: host, access: s.Access}), nil
}

// add gives b a window. m.mu is held.
func (m *Memory) add(b *buffer, c *contents) uint64 {
	b.base = uint64(m.next)<<windowShift + lead
	b.contents.Store(c)
	m.live[m.next] = b
	m.next++
	if !b.borrowed {
		m.used += int64(b.spec.Size)
		m.allocs++
	}
	return b.base
}

// Free ends a buffer, also one made by Map. Later accesses to it fault.
func (m *Memory) Free(addr uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := uint32(addr >> windowShift)
	b := m.live[w]
	if b == nil || addr != b.base {
		return fmt.Errorf("%w: free of %s", ErrOutOfBounds, m.label(addr))
	}
	delete(m.live, w)
	b.contents.Store(nil)
	if !b.borrowed {
		m.used -= int64(b.spec.Size)
	}
	if len(m.freed) == remembered {
		m.freed = append(m.freed[:0], m.freed[remembered/2:]...)
	}
	m.freed = append(m.freed, b)
	return nil
}

// Info returns the free and the total bytes.
func (m *Memory) Info() (free, total int64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.limit - m.used, m.limit
}

// Allocations returns how many calls of Alloc succeeded.
func (m *Memory) Allocations() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.allocs
}

// Leaks names the buffers that are still allocated, in the order in which they were made.
func (m *Memory) Leaks() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var names []string
	for _, w := range slices.Sorted(maps.Keys(m.live)) {
		names = append(names, fmt.Sprintf("%s (%d bytes)", m.live[w].spec.Name, m.live[w].spec.Size))
	}
	return names
}

// Protect changes the access of future kernels to a buffer.
func (m *Memory) Protect(addr uint64, a Access) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.live[uint32(addr>>windowShift)]
	if b == nil || addr != b.base {
		return fmt.Errorf("%w: protection of %s", ErrOutOfBounds, m.label(addr))
	}
	c := b.contents.Load()
	b.contents.Store(&contents{data: c.data, init: c.init, access: a})
	return nil
}

// find returns the buffer whose window addr lies in, or nil.
func (m *Memory) find(addr uint64) *buffer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if b := m.live[uint32(addr>>windowShift)]; b != nil {
		return b
	}
	return m.findFreed(addr)
}

// findFreed does so among the freed ones. m.mu is held.
func (m *Memory) findFreed(addr uint64) *buffer {
	for _, b := range m.freed {
		if b.base>>windowShift == addr>>windowShift {
			return b
		}
	}
	return nil
}

// Label names an address: "compressed[1024]+12" is byte 12 of element 1024.
func (m *Memory) Label(addr uint64) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.label(addr)
}

func (m *Memory) label(addr uint64) string {
	b := m.live[uint32(addr>>windowShift)]
	if b == nil {
		b = m.findFreed(addr)
	}
	if b == nil {
		return fmt.Sprintf("%#x, which is in no buffer", addr)
	}
	return labelOf(b.spec.Name, int64(addr-b.base), b.spec.Stride)
}

func labelOf(name string, offset int64, stride int) string {
	if stride <= 0 || offset < 0 {
		return fmt.Sprintf("%s%+d", name, offset)
	}
	return fmt.Sprintf("%s[%d]%+d", name, offset/int64(stride), offset%int64(stride))
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}
