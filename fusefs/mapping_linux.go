// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapRequests maps the memory of requests, with every page present.
func mapRequests(f *os.File) ([]byte, error) {
	var st unix.Stat_t
	fd := int(f.Fd())
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("look at the memory of requests: %w", err)
	}
	mem, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map the memory of requests: %w", err)
	}
	if err := unix.Madvise(mem, unix.MADV_DONTDUMP); err != nil {
		return nil, errors.Join(fmt.Errorf("keep requests out of core dumps: %w", err), unix.Munmap(mem))
	}
	return mem, nil
}

// A fixedMapping is a part of the memory of requests that lies at the same address
// in every process.
type fixedMapping struct {
	mem []byte // immutable
}

// mapFixed maps n bytes from off on at an address where nothing else may be.
func mapFixed(f *os.File, off, n int, address uintptr) (fixedMapping, error) {
	const flags = unix.MAP_SHARED | unix.MAP_POPULATE | unix.MAP_FIXED_NOREPLACE
	at, err := unix.MmapPtr(int(f.Fd()), int64(off), unsafe.Add(unsafe.Pointer(nil), address), uintptr(n), unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return fixedMapping{}, fmt.Errorf("map the rings' memory: %w", err)
	}
	if uintptr(at) != address { // kernels before 4.17 take the address for a hint
		return fixedMapping{}, errors.Join(errors.New("map the rings' memory: elsewhere"), unix.MunmapPtr(at, uintptr(n)))
	}
	return fixedMapping{unsafe.Slice((*byte)(at), n)}, nil
}

func (m fixedMapping) unmap() error {
	if m.mem == nil {
		return nil
	}
	return unix.MunmapPtr(unsafe.Pointer(&m.mem[0]), uintptr(len(m.mem)))
}
