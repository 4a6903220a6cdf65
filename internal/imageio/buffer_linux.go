// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// MapBuffer maps n bytes outside Go's heap, in whole pages, so that their address is fixed and a
// GPU can register them. Registering takes less time for huge pages.
func MapBuffer(n int) ([]byte, error) {
	n = max(n+pageSize-1, pageSize) / pageSize * pageSize
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map a buffer of %d bytes: %w", n, err)
	}
	if err := unix.Madvise(b, unix.MADV_HUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: a kernel without huge pages
		return nil, errors.Join(fmt.Errorf("ask for huge pages: %w", err), UnmapBuffer(b))
	}
	return b, nil
}

// UnmapBuffer unmaps a buffer of MapBuffer. The caller must not use it afterwards.
func UnmapBuffer(b []byte) error {
	if err := unix.Munmap(b); err != nil {
		return fmt.Errorf("unmap a buffer of %d bytes: %w", len(b), err)
	}
	return nil
}
