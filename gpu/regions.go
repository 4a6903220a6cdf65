// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

// A region is registered memory.
type region struct {
	host  driver.Host // immutable, as is write
	write bool
	users int // pieces under way that use it; guarded by Engine.mu
}

// A part is the place of a slice of a batch in a region; region is nil if the slice is not
// registered.
type part struct {
	*region
	at int
}

// addressOf returns the address of a slice that is not empty, to compare it with others. Registered
// memory does not move.
func addressOf(b []byte) uintptr { return reflect.ValueOf(&b[0]).Pointer() }

// Register implements [bulk.Registrar]: the device reads objects, and pages to be compressed, in
// the region itself, and with write also writes pages there. The region must be a mapping that
// begins at a multiple of a page, has a multiple of 16 bytes, overlaps no other, and stays mapped
// until Unregister. Its pages are locked in memory.
func (e *Engine) Register(memory []byte, write bool) error {
	if len(memory) == 0 || addressOf(memory)%codec.PageSize != 0 || len(memory)%quadBytes != 0 {
		return fmt.Errorf("%w: register %d bytes with %s: a region begins at a multiple of %d and has a multiple of %d bytes",
			driver.ErrArgument, len(memory), e.name, codec.PageSize, quadBytes)
	}
	var h driver.Host
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.overlaps(memory) {
		return fmt.Errorf("%w: register %d bytes with %s: some of them are registered", driver.ErrArgument, len(memory), e.name)
	}
	err := e.context.Do(func(t *driver.Thread) (err error) {
		h, err = t.RegisterHost(memory, !write)
		return err
	})
	if err != nil {
		return fmt.Errorf("register %d bytes with %s: %w", len(memory), e.name, err)
	}
	e.add(&region{host: h, write: write})
	return nil
}

// Unregister implements [bulk.Registrar]. For a dead device it does nothing.
func (e *Engine) Unregister(memory []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.regions, func(r *region) bool {
		h := r.host.Bytes()
		return len(memory) > 0 && &h[0] == &memory[0] && len(h) == len(memory)
	})
	if i < 0 {
		return fmt.Errorf("%w: unregister %d bytes with %s: they are not registered", driver.ErrArgument, len(memory), e.name)
	}
	r := e.regions[i]
	if r.users > 0 {
		return fmt.Errorf("%w: unregister %d bytes with %s: pieces under way use them", driver.ErrArgument, len(memory), e.name)
	}
	e.regions = slices.Delete(e.regions, i, i+1)
	err := e.context.Do(func(t *driver.Thread) error { return t.UnregisterHost(r.host) })
	if err != nil && !errors.Is(err, driver.ErrDead) && !errors.Is(err, driver.ErrClosed) {
		return fmt.Errorf("unregister %d bytes with %s: %w", len(memory), e.name, err)
	}
	return nil
}

// after returns the first region that begins behind an address. e.mu is held.
func (e *Engine) after(address uintptr) int {
	i, _ := slices.BinarySearchFunc(e.regions, address, func(r *region, a uintptr) int {
		return cmp.Or(cmp.Compare(addressOf(r.host.Bytes()), a), -1)
	})
	return i
}

// overlaps reports whether some of the memory is registered. e.mu is held.
func (e *Engine) overlaps(memory []byte) bool {
	begin := addressOf(memory)
	i := e.after(begin)
	if i < len(e.regions) && addressOf(e.regions[i].host.Bytes())-begin < uintptr(len(memory)) {
		return true
	}
	return i > 0 && e.regions[i-1].end() > begin
}

// end returns the address behind a region.
func (r *region) end() uintptr { return addressOf(r.host.Bytes()) + uintptr(len(r.host.Bytes())) }

// add inserts a region in the order of addresses. e.mu is held.
func (e *Engine) add(r *region) {
	e.regions = slices.Insert(e.regions, e.after(addressOf(r.host.Bytes())), r)
}

// find returns the place of the memory in the region that contains all of it. e.mu is held.
func (e *Engine) find(memory []byte) part {
	if len(memory) == 0 || len(e.regions) == 0 {
		return part{}
	}
	begin := addressOf(memory)
	i := e.after(begin) - 1
	if i < 0 || e.regions[i].end() < begin+uintptr(len(memory)) {
		return part{}
	}
	r := e.regions[i]
	return part{r, int(begin - addressOf(r.host.Bytes()))}
}

// know finds the registered parts of a batch and keeps them registered until the piece has ended.
func (s *slot) know(b *bulk.Batch) {
	e := s.engine
	s.path, s.regions, s.pages, s.used = e.Path(), s.regions[:0], part{}, s.used[:0]
	e.mu.Lock()
	defer e.mu.Unlock()
	if b.Op == bulk.Compress {
		s.pages = s.use(e.find(b.Pages))
		return
	}
	if pages := e.find(b.Pages); b.Op == bulk.Decompress && pages.region != nil && pages.write {
		s.pages = s.use(pages)
	}
	for _, r := range b.Regions {
		var known part
		if s.path != Copied {
			known = s.use(e.find(r))
		}
		s.regions = append(s.regions, known)
	}
}

// use counts a user of a region. Engine.mu is held.
func (s *slot) use(p part) part {
	if p.region != nil {
		p.users++
		s.used = append(s.used, p.region)
	}
	return p
}
