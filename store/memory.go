// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"os"
)

// MemoryKind says what holds an image.
type MemoryKind string

const (
	// MemoryAuto is MemoryNoswap where the kernel and our privileges allow it,
	// else MemoryMemfd.
	MemoryAuto MemoryKind = "auto"
	// MemoryNoswap is a file on a tmpfs of its own, mounted nowhere, with the
	// option noswap (Linux 6.4, needs CAP_SYS_ADMIN in the first user
	// namespace): the kernel never writes its pages to swap.
	MemoryNoswap MemoryKind = "noswap"
	// MemoryMemfd is a memfd. The kernel may swap its pages unless they are
	// locked, which is the caller's to do (mlockall).
	MemoryMemfd MemoryKind = "memfd"
	// MemoryHeap is Go memory: what the race detector's build has, since the
	// detector does not see mapped files. It cannot be asked for.
	MemoryHeap MemoryKind = "heap"
)

// ErrNotMemory is returned for a file that cannot hold an image.
var ErrNotMemory = errors.New("not a memory file")

// ErrNoMemory is returned when the machine has no memory for the image.
var ErrNoMemory = errors.New("no memory for the image")

// Memory is the file that holds an image. It is sparse: space is taken from
// the machine by allocate, an error when there is none, and given back by
// punch. Bytes that were not allocated must not be touched, not even read.
//
// A Memory outlives the Store on it: Open carries on from what another left.
// Its methods are safe for concurrent use on ranges that do not overlap.
type Memory struct {
	kind   MemoryKind    // immutable
	file   memoryFile    // immutable
	mem    []byte        // the mapping; set by reserve, nil after Close
	locked lockedMapping // in a keeper, which locks for its worker

	locks *lockClient // in a worker, of the keeper that locks for it; set before reserve, else nil
}

// NewMemory makes an empty memory file. Close releases it.
func NewMemory(kind MemoryKind) (*Memory, error) {
	f, kind, err := openMemoryFile(kind)
	if err != nil {
		return nil, fmt.Errorf("create memory file: %w", err)
	}
	return &Memory{kind: kind, file: f}, nil
}

// AdoptMemory makes a Memory of the file that another Memory's File was, in this
// process or in one that passed it on, and takes charge of f. kind is that Memory's
// Kind. It fails with ErrNotMemory when f is nothing that such a Memory has, and
// closes f then too. The race detector's build cannot adopt anything.
func AdoptMemory(f *os.File, kind MemoryKind) (*Memory, error) {
	file, err := adoptMemoryFile(f, kind)
	if err != nil {
		return nil, fmt.Errorf("adopt memory file: %w", errors.Join(err, f.Close()))
	}
	return &Memory{kind: kind, file: file}, nil
}

// Kind says what holds the image.
func (m *Memory) Kind() MemoryKind { return m.kind }

// Close unmaps the memory and frees it. No Store may be open on it.
func (m *Memory) Close() error {
	err := errors.Join(m.unmap(), m.unlock())
	if cerr := m.file.Close(); err == nil {
		err = cerr
	}
	return err
}
