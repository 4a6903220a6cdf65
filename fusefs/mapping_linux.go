// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// mapRequests maps the memory of requests, with every page present.
func mapRequests(f *os.File) ([]byte, error) {
	var st unix.Stat_t
	fd := int(f.Fd())
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("look at the memory of requests: %w", err)
	}
	mem, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the memory of requests: %w", err)
	}
	if err := unix.Madvise(mem, unix.MADV_DONTDUMP); err != nil {
		return nil, errors.Join(fmt.Errorf("keep requests out of core dumps: %w", err), unix.Munmap(mem))
	}
	if err := present(mem); err != nil {
		return nil, errors.Join(fmt.Errorf("take the memory of requests: %w", err), unix.Munmap(mem))
	}
	return mem, nil
}

func (r requests) unmap() error { return unix.Munmap(r.mem) }

// present makes all pages of a mapping present. MAP_POPULATE does not in a process with MCL_ONFAULT
// of mlockall(2): the kernel leaves such mappings out. An absent page costs more than a fault on
// the page path: if the process were killed while the kernel copies a request to it, the request
// would end with EIO.
func present(mem []byte) error {
	for {
		switch err := unix.Madvise(mem, unix.MADV_POPULATE_WRITE); err {
		case unix.EINTR:
		case unix.EINVAL: // before Linux 5.14
			sum := byte(0)
			for i := 0; i < len(mem); i += pageSize {
				sum += mem[i]
			}
			runtime.KeepAlive(sum)
			return nil
		default:
			return err
		}
	}
}
