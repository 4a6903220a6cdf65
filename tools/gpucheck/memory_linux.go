// SPDX-License-Identifier: Apache-2.0

package main

import "golang.org/x/sys/unix"

// mapMemory returns memory that is no part of Go's heap, and what gives it back.
func mapMemory(n int) (memory []byte, unmap func() error, err error) {
	memory, err = unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, nil, err
	}
	return memory, func() error { return unix.Munmap(memory) }, nil
}
