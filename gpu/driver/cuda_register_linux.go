// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package driver

import (
	"errors"
	"slices"
)

// A registration is memory of the program that is registered with libcuda. It counts for all
// contexts: libcuda refuses memory that another one has registered.
type registration struct {
	size     int
	readOnly bool         // the device must not write to it
	by       *cudaCalls   // the context that registered it
	users    []*cudaCalls // contexts that use it
}

// stale reports whether only dead contexts use a registration. They do not learn when the program
// unmaps the memory, so another mapping may be there by now, while the device would use the old
// one.
func (r *registration) stale() bool {
	return !slices.ContainsFunc(r.users, func(u *cudaCalls) bool { return !u.abandoned.Load() })
}

// register registers memory, or shares another context's registration.
func (c *cudaCalls) register(b []byte, readOnly bool) (Host, error) {
	c.registeredMu.Lock()
	defer c.registeredMu.Unlock()
	h := Host{bytes: b, address: uint64(addressOf(b))}
	r := c.registered[h.address]
	if r != nil && (r.size != len(b) || r.readOnly && !readOnly || r.stale() || slices.Contains(r.users, c)) {
		return Host{}, c.failed(cuMemHostRegister, RegisteredAlready)
	}
	if r == nil {
		r = &registration{size: len(b), by: c}
		var err error
		if r.readOnly, err = c.lock(h, readOnly); err != nil {
			return Host{}, err
		}
		c.registered[h.address] = r
	}
	r.users = append(r.users, c)
	var err error
	if h.device, err = c.mapped(h.address); err != nil {
		return Host{}, errors.Join(err, c.leave(h.address, r))
	}
	return h, nil
}

// lock registers for writing too if possible, and reports whether that failed. An untouched page of
// a private mapping is the system's zero page; if it were locked for reading alone, the device
// would keep that page on some kernels (Linux before 6.2), while the program writes to another page
// in its place.
func (c *cudaCalls) lock(h Host, readOnly bool) (onlyRead bool, err error) {
	const flags = hostPortable | hostDeviceMap
	register := func(flags uintptr) error {
		return c.call(cuMemHostRegister, uintptr(h.address), uintptr(len(h.bytes)), flags)
	}
	err = register(flags)
	var e *Error
	if readOnly && errors.As(err, &e) && !e.Code.Sticky() && e.Code != OutOfMemory && e.Code != RegisteredAlready {
		return true, register(flags | hostReadOnly)
	}
	return false, err
}

func (c *cudaCalls) unregister(h Host) error {
	c.registeredMu.Lock()
	defer c.registeredMu.Unlock()
	r := c.registered[h.address]
	if r == nil || r.size != len(h.bytes) || !slices.Contains(r.users, c) {
		return c.failed(cuMemHostUnregister, NotRegistered)
	}
	return c.leave(h.address, r)
}

// leave removes this context from the users; the last one unregisters. If another context
// registered the memory it may be gone with that one.
func (c *cudaCalls) leave(address uint64, r *registration) error {
	if r.users = slices.DeleteFunc(r.users, func(u *cudaCalls) bool { return u == c }); len(r.users) > 0 {
		return nil
	}
	delete(c.registered, address)
	err := c.call(cuMemHostUnregister, uintptr(address))
	if r.by != c && errors.Is(err, NotRegistered) {
		return nil
	}
	return err
}

// forgetRegistered leaves registrations to the end of the context, or to other users.
func (c *cudaCalls) forgetRegistered() {
	c.registeredMu.Lock()
	defer c.registeredMu.Unlock()
	for address, r := range c.registered {
		if r.users = slices.DeleteFunc(r.users, func(u *cudaCalls) bool { return u == c }); len(r.users) == 0 {
			delete(c.registered, address)
		}
	}
}
