// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package driver

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A block is memory outside Go's heap for arguments and results that libcuda takes by address: a
// goroutine's stack moves, and Go does not see pointers within a call's arguments.
type block struct {
	bytes []byte
	base  uintptr
}

func newBlock(size int) (block, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return block{}, fmt.Errorf("map %d bytes for calls: %w", size, err)
	}
	return block{b, addressOf(b)}, nil
}

func (b block) free() error {
	if err := unix.Munmap(b.bytes); err != nil {
		return fmt.Errorf("unmap %d bytes for calls: %w", len(b.bytes), err)
	}
	return nil
}

// at returns the address of a byte.
func (b block) at(off int) uintptr { return b.base + uintptr(off) }

// clear sets a slot to 0 and returns its address, for a result.
func (b block) clear(off int) uintptr {
	b.set(off, 0)
	return b.at(off)
}

func (b block) set(off int, v uint64)   { binary.NativeEndian.PutUint64(b.bytes[off:], v) }
func (b block) get(off int) uint64      { return binary.NativeEndian.Uint64(b.bytes[off:]) }
func (b block) get32(off int) uint32    { return binary.NativeEndian.Uint32(b.bytes[off:]) }
func (b block) set32(off int, v uint32) { binary.NativeEndian.PutUint32(b.bytes[off:], v) }

// text returns the C string in n bytes from off on.
func (b block) text(off, n int) string {
	s, _, _ := bytes.Cut(b.bytes[off:off+n], []byte{0})
	return string(s)
}

// pointed returns n bytes at the address in a slot. They must not be Go's.
func (b block) pointed(off, n int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&b.bytes[off])), n)
}

// pointedText returns the C string at the address in a slot, of at most n bytes.
func (b block) pointedText(off, n int) string {
	p := *(**byte)(unsafe.Pointer(&b.bytes[off]))
	if p == nil {
		return ""
	}
	for i := range n {
		if *(*byte)(unsafe.Add(unsafe.Pointer(p), i)) == 0 {
			return string(unsafe.Slice(p, i))
		}
	}
	return string(unsafe.Slice(p, n))
}

// addressOf returns the address of memory that is not Go's.
func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
