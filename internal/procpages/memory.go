// SPDX-License-Identifier: Apache-2.0

package procpages

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Bits of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst). A page is taken
// when it is present and mapped by one process alone; the kernel's zero page and pages shared with
// a parent are not.
const (
	entryExclusive = 1 << 56
	entryFile      = 1 << 61
	entrySwapped   = 1 << 62
	entryPresent   = 1 << 63
	entryBits      = entryExclusive | entryFile | entrySwapped | entryPresent
	entryTaken     = entryExclusive | entryPresent
	entrySize      = 8
)

// walkBatch is how many bytes of pagemap are read at a time: the entries of 32 MiB of addresses.
const walkBatch = 64 << 10

// ErrMoved means that a page may not be copied, or no longer.
var ErrMoved = errors.New("the page is no longer resident")

// A Memory is the memory of one process, open for reading. It belongs to one goroutine.
type Memory struct {
	pid      int
	mappings []mapping
	pagemap  file // of 8-byte entries, one a page
	mem      file // an address is an offset in it
	entries  [walkBatch]byte
}

// file is the used part of an *os.File, so that tests can provide page tables.
type file interface {
	io.ReaderAt
	io.Closer
}

// Open opens the memory of a process. The error wraps [ErrGone] or fs.ErrPermission if that is the
// reason.
func Open(pid int) (*Memory, error) {
	m := &Memory{pid: pid}
	if err := m.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("look into process %d: %w", pid, Explain(gone(err))), m.Close())
	}
	return m, nil
}

func (m *Memory) open() error {
	smaps, err := os.Open(fmt.Sprintf("/proc/%d/smaps", m.pid))
	if err != nil {
		return err
	}
	defer smaps.Close() // nothing was written to it
	if m.mappings, err = readMappings(smaps); err != nil {
		return err
	}
	pagemap, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", m.pid))
	if err != nil {
		return err
	}
	m.pagemap = pagemap // after the check: an interface with a nil pointer is not nil
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", m.pid))
	if err != nil {
		return err
	}
	m.mem = mem
	return nil
}

// Close closes the memory.
func (m *Memory) Close() error {
	var all error
	for _, f := range []file{m.pagemap, m.mem} {
		if f != nil {
			all = errors.Join(all, f.Close())
		}
	}
	return all
}

// Walk calls visit with the address of every page that may be copied, in ascending order, and ends
// with the first error that visit returns or when ctx is done.
func (m *Memory) Walk(ctx context.Context, visit func(address int64) error) error {
	for _, mapped := range m.mappings {
		if err := m.walkMapping(ctx, mapped, visit); err != nil {
			return fmt.Errorf("walk through process %d: %w", m.pid, err)
		}
	}
	return nil
}

// walkMapping ends early when it has seen as many anonymous pages as smaps has counted: a
// garbage-collected heap may be terabytes of addresses, with memory at the beginning alone.
func (m *Memory) walkMapping(ctx context.Context, mapped mapping, visit func(address int64) error) error {
	left := mapped.anonymous / PageSize
	for address := mapped.first; address < mapped.end && left > 0; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		want := min(walkBatch, (mapped.end-address)/PageSize*entrySize)
		n, err := m.pagemap.ReadAt(m.entries[:want], address/PageSize*entrySize)
		if n < entrySize {
			return fmt.Errorf("read pagemap at %#x: %w", address, ended(err))
		}
		for at := 0; at+entrySize <= n; at += entrySize {
			entry := binary.NativeEndian.Uint64(m.entries[at:])
			if entry&entryBits == entryTaken {
				left--
				if err := visit(address); err != nil {
					return err
				}
			}
			address += PageSize
		}
	}
	return nil
}

// ReadPage copies the page at address, which Walk has visited, to page, of PageSize bytes. If the
// page has been swapped out or freed it is not touched: the error wraps [ErrMoved].
func (m *Memory) ReadPage(page []byte, address int64) error {
	var entry [entrySize]byte
	if _, err := m.pagemap.ReadAt(entry[:], address/PageSize*entrySize); err != nil {
		return fmt.Errorf("read pagemap of process %d at %#x: %w", m.pid, address, ended(err))
	}
	if binary.NativeEndian.Uint64(entry[:])&entryBits != entryTaken {
		return ErrMoved
	}
	if _, err := m.mem.ReadAt(page[:PageSize], address); err != nil {
		if errors.Is(err, syscall.EIO) { // unmapped since
			return ErrMoved
		}
		return fmt.Errorf("read memory of process %d at %#x: %w", m.pid, address, ended(err))
	}
	return nil
}

// ended maps the end of a file to ErrGone: the files of a process's memory end with the memory.
func ended(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return ErrGone
	}
	return gone(err)
}
