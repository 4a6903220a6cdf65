// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Guarded returns two zeroed buffers of n bytes, each in memory of its own between two pages that
// cannot be accessed: one whose last byte is the last before the page behind it, and one whose
// first byte is the first behind the page before it. A read or write across that edge by any code,
// assembly included, ends the test binary with a fault at that place. Where n is a multiple of the
// machine's page size both edges of both buffers are guarded. The memory is given back when the
// test ends.
func Guarded(tb testing.TB, n int) (atEnd, atStart []byte) {
	tb.Helper()
	usable := between(tb, n)
	atEnd = usable[len(usable)-n:]
	usable = between(tb, n)
	return atEnd, usable[:n:n]
}

// between maps memory for n bytes, rounded up to pages, with an inaccessible page on either side.
func between(tb testing.TB, n int) []byte {
	tb.Helper()
	size := unix.Getpagesize()
	usable := (n + size - 1) / size * size
	memory, err := unix.Mmap(-1, 0, usable+2*size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		tb.Fatalf("map %d bytes: %v", usable+2*size, err)
	}
	tb.Cleanup(func() {
		if err := unix.Munmap(memory); err != nil {
			tb.Errorf("unmap guarded memory: %v", err)
		}
	})
	inner := memory[size : size+usable : size+usable]
	if err := unix.Mprotect(inner, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		tb.Fatalf("make %d bytes accessible: %v", usable, err)
	}
	return inner
}
