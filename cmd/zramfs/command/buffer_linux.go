// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// mapBuffer makes n bytes outside of Go's heap, in whole pages, so that they stay where they are and a device can be told of them.
func mapBuffer(n int) ([]byte, error) {
	n = max(n+pageSize-1, pageSize) / pageSize * pageSize
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map a buffer of %d bytes: %w", n, err)
	}
	return b, nil
}

// unmapBuffer gives back what mapBuffer made. Nobody may use it any more.
func unmapBuffer(b []byte) error {
	if err := unix.Munmap(b); err != nil {
		return fmt.Errorf("unmap a buffer of %d bytes: %w", len(b), err)
	}
	return nil
}
