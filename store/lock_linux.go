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

// lockedMapping is the keeper's mapping of a file that a worker uses.
type lockedMapping struct {
	mu  sync.Mutex // guards mem
	mem []byte     // all of the file; nil before the first Lock
}

// Lock keeps n bytes at off, which are allocated, out of swap for as long as this process lives and
// has the Memory open, even if the worker dies. It is for a process without a Store on m, costs the
// page tables (2 MiB a GiB), and does nothing for a file of kind MemoryNoswap. off and n are
// multiples of PageSize. It needs CAP_IPC_LOCK or a sufficient RLIMIT_MEMLOCK.
//
// Each piece of less than a segment takes a mapping; a process can have 65,530.
func (m *Memory) Lock(off, n int64) error {
	if m.kind != MemoryMemfd {
		return nil
	}
	m.locked.mu.Lock()
	defer m.locked.mu.Unlock()
	if err := m.mapLocked(); err != nil {
		return err
	}
	if off < 0 || n < 0 || off%PageSize != 0 || n > int64(len(m.locked.mem))-off {
		return fmt.Errorf("lock %d bytes at %d: %w", n, off, ErrRange)
	}
	return os.NewSyscallError("mlock", retried(func() error { return unix.Mlock(m.locked.mem[off : off+n]) }))
}

// mapLocked maps the file as large as it is now: it gets its size when
// an image is laid into it, and keeps that.
func (m *Memory) mapLocked() error {
	fd := int(m.file.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if int64(len(m.locked.mem)) == st.Size {
		return nil
	}
	mem, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	if err := unix.Madvise(mem, unix.MADV_DONTDUMP); err != nil {
		return errors.Join(os.NewSyscallError("madvise", err), unix.Munmap(mem))
	}
	old := m.locked.mem
	m.locked.mem = mem
	return unmapBytes(old)
}

func (m *Memory) unlock() error {
	m.locked.mu.Lock()
	defer m.locked.mu.Unlock()
	mem := m.locked.mem
	m.locked.mem = nil
	return unmapBytes(mem)
}

func unmapBytes(mem []byte) error {
	if mem == nil {
		return nil
	}
	return os.NewSyscallError("munmap", unix.Munmap(mem))
}
