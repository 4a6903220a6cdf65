// SPDX-License-Identifier: Apache-2.0

package sim

import "fmt"

// CopyIn copies the host's bytes to addr.
func (m *Memory) CopyIn(addr uint64, src []byte) error {
	c, off, err := m.span("copy in", addr, len(src))
	if err != nil || len(src) == 0 {
		return err
	}
	copy(c.data[off:], src)
	c.written(off, len(src))
	return nil
}

// CopyOut copies from addr to the host. Uninitialised bytes are 0xCC.
func (m *Memory) CopyOut(dst []byte, addr uint64) error {
	c, off, err := m.span("copy out", addr, len(dst))
	if err != nil || len(dst) == 0 {
		return err
	}
	copy(dst, c.data[off:])
	return nil
}

// Copy copies n bytes within the device.
func (m *Memory) Copy(dst, src uint64, n int) error {
	from, s, err := m.span("copy from", src, n)
	if err != nil || n <= 0 {
		return err
	}
	to, d, err := m.span("copy to", dst, n)
	if err != nil {
		return err
	}
	copy(to.data[d:d+n], from.data[s:s+n])
	if from.init == nil || to.init == nil {
		to.written(d, n)
		return nil
	}
	copy(to.init[d:d+n], from.init[s:s+n])
	return nil
}

// Fill sets n bytes to v.
func (m *Memory) Fill(addr uint64, v byte, n int) error {
	c, off, err := m.span("fill", addr, n)
	if err != nil || n <= 0 {
		return err
	}
	fill(c.data[off:off+n], v)
	c.written(off, n)
	return nil
}

// Discard makes n bytes uninitialised, as in a fresh buffer. Pools use it so that no user reads the
// bytes of an earlier one. Host memory is left alone.
func (m *Memory) Discard(addr uint64, n int) error {
	c, off, err := m.span("discard", addr, n)
	if err != nil || n <= 0 || c.init == nil {
		return err
	}
	fill(c.data[off:off+n], poison)
	fill(c.init[off:off+n], 0)
	return nil
}

// written marks bytes as initialised.
func (c *contents) written(off, n int) {
	if c.init != nil {
		fill(c.init[off:off+n], 1)
	}
}

// span finds the n bytes at addr, which must lie in one live buffer.
func (m *Memory) span(what string, addr uint64, n int) (*contents, int, error) {
	if n <= 0 {
		return nil, 0, nil
	}
	b := m.find(addr)
	if b == nil {
		return nil, 0, fmt.Errorf("%w: %s of %d bytes at %s", ErrOutOfBounds, what, n, m.Label(addr))
	}
	c := b.contents.Load()
	if c == nil {
		return nil, 0, fmt.Errorf("%w: %s of %d bytes at %s", ErrUseAfterFree, what, n, m.Label(addr))
	}
	off := addr - b.base
	if off > uint64(len(c.data)) || uint64(n) > uint64(len(c.data))-off {
		return nil, 0, fmt.Errorf("%w: %s of %d bytes at %s of %d bytes", ErrOutOfBounds, what, n, m.Label(addr), len(c.data))
	}
	return c, int(off), nil
}
