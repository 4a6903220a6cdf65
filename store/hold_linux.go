// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// holding is the keeper's mapping of a file that a worker uses.
type holding struct {
	mu  sync.Mutex // guards mem
	mem []byte     // all of the file; nil before the first Hold
}

// Hold keeps n bytes at off, which must have been taken from the machine, from
// being swapped for as long as this process lives and has the Memory open, even if
// the worker dies. It is for a process without a Store on m, costs the page tables
// (2 MiB a GiB), and does nothing for a file of kind MemoryNoswap. off and n are
// multiples of PageSize. It needs CAP_IPC_LOCK or a sufficient RLIMIT_MEMLOCK.
//
// Each piece of less than a segment takes a mapping; a process can have 65,530.
func (m *Memory) Hold(off, n int64) error {
	if m.kind != MemoryMemfd {
		return nil
	}
	m.held.mu.Lock()
	defer m.held.mu.Unlock()
	if err := m.mapHeld(); err != nil {
		return err
	}
	if off < 0 || n < 0 || off%PageSize != 0 || n > int64(len(m.held.mem))-off {
		return fmt.Errorf("hold %d bytes at %d: %w", n, off, ErrRange)
	}
	return os.NewSyscallError("mlock", retried(func() error { return unix.Mlock(m.held.mem[off : off+n]) }))
}

// mapHeld maps the file as large as it is now: it gets its size when
// an image is laid into it, and keeps that.
func (m *Memory) mapHeld() error {
	fd := int(m.file.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if int64(len(m.held.mem)) == st.Size {
		return nil
	}
	mem, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	if err := unix.Madvise(mem, unix.MADV_DONTDUMP); err != nil {
		return errors.Join(os.NewSyscallError("madvise", err), unix.Munmap(mem))
	}
	old := m.held.mem
	m.held.mem = mem
	return unmapBytes(old)
}

func (m *Memory) letGo() error {
	m.held.mu.Lock()
	defer m.held.mu.Unlock()
	mem := m.held.mem
	m.held.mem = nil
	return unmapBytes(mem)
}

func unmapBytes(mem []byte) error {
	if mem == nil {
		return nil
	}
	return os.NewSyscallError("munmap", unix.Munmap(mem))
}
