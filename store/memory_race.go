// SPDX-License-Identifier: Apache-2.0

//go:build race

package store

import (
	"fmt"
	"os"
)

// The race detector sees only Go's own memory, so under it the image lies
// there. Everything else is the same.

type memoryFile struct{}

func (memoryFile) Close() error { return nil }

func openMemoryFile(MemoryKind) (memoryFile, MemoryKind, error) {
	return memoryFile{}, MemoryHeap, nil
}

// File is nil: nothing of a process's own memory can be passed on.
func (m *Memory) File() *os.File { return nil }

func adoptMemoryFile(*os.File, MemoryKind) (memoryFile, error) {
	return memoryFile{}, fmt.Errorf("%w: the race detector's build has its images on the heap", ErrNotMemory)
}

type lockedMapping struct{}

// Lock has nothing to lock.
func (m *Memory) Lock(off, n int64) error { return nil }

func (m *Memory) unlock() error { return nil }

func (m *Memory) reserve(size int64) error {
	if int64(len(m.mem)) < size {
		m.mem = append(make([]byte, 0, size), m.mem...)[:size]
	}
	return nil
}

func (m *Memory) readAt(p []byte, off int64) error {
	clear(p[copy(p, m.mem[min(off, int64(len(m.mem))):]):])
	return nil
}

func (m *Memory) writeAt(p []byte, off int64) error {
	copy(m.mem[off:], p)
	return nil
}

func (m *Memory) length() (int64, error) { return int64(len(m.mem)), nil }

// nextData knows nothing: there are no holes in Go memory.
func (m *Memory) nextData(int64) (data, hole int64, err error) {
	return int64(len(m.mem)), int64(len(m.mem)), nil
}

func (m *Memory) allocate(off, n int64) error { return nil }

func (m *Memory) populate(off, n int64) error { return nil }

func (m *Memory) adopt(off, n int64) error { return nil }

func (m *Memory) punch(off, n int64) error {
	clear(m.mem[off : off+n])
	return nil
}

// Taken is not known of Go memory, -1.
func (m *Memory) Taken() (int64, error) { return -1, nil }

// unmap keeps the bytes: they are the file.
func (m *Memory) unmap() error { return nil }
