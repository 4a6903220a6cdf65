// SPDX-License-Identifier: Apache-2.0

package procpages

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
)

// table is a page table that a test wrote, from address 0 on.
type table []uint64

func (p table) ReadAt(out []byte, at int64) (int, error) {
	n := 0
	for i := at / entrySize; n < len(out) && i < int64(len(p)); i++ {
		binary.NativeEndian.PutUint64(out[n:], p[i])
		n += entrySize
	}
	if n < len(out) {
		return n, io.EOF
	}
	return n, nil
}

func (table) Close() error { return nil }

// bytesRead is memory that notes which addresses are read.
type bytesRead struct{ at []int64 }

func (b *bytesRead) ReadAt(out []byte, at int64) (int, error) {
	b.at = append(b.at, at)
	return len(out), nil
}

func (*bytesRead) Close() error { return nil }

// memoryOf returns a memory with one mapping for the whole page table, all counted in smaps.
func memoryOf(entries table, mem file) *Memory {
	size := int64(len(entries)) * PageSize
	return &Memory{pagemap: entries, mem: mem, mappings: []mapping{{end: size, usable: true, anonymous: size}}}
}

// all has an entry of every kind; only the second is to be taken.
var all = table{
	0,                             // nothing there
	entryPresent | entryExclusive, // one's own
	entryPresent,                  // the zero page, or shared after a fork
	entryPresent | entryExclusive | entryFile, // a file's
	entrySwapped,
	entrySwapped | entryExclusive,
	entryPresent | entryExclusive | entrySwapped,
	1<<55 | entrySwapped | 0x1234,
}

func TestOnlyResidentOwnAnonymousPagesAreRead(t *testing.T) {
	mem := &bytesRead{}
	m := memoryOf(all, mem)
	page := make([]byte, PageSize)
	if err := m.Walk(t.Context(), func(address int64) error { return m.ReadPage(page, address) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(mem.at, []int64{PageSize}) {
		t.Errorf("pages at %#x are read, want the one at %#x", mem.at, PageSize)
	}
}

// A page that was swapped out after the walk has seen it must not be read.
func TestPageSwappedOutMeanwhileIsNotRead(t *testing.T) {
	for i, entry := range all {
		mem := &bytesRead{}
		m := memoryOf(table{entry}, mem)
		err := m.ReadPage(make([]byte, PageSize), 0)
		if taken := i == 1; taken != (len(mem.at) == 1) || errors.Is(err, ErrMoved) == taken {
			t.Errorf("entry %#x: %d reads, error %v", entry, len(mem.at), err)
		}
	}
}

// The page table of a process that has ended is empty.
func TestMemoryOfAnEndedProcess(t *testing.T) {
	m := memoryOf(nil, &bytesRead{})
	m.mappings[0].end, m.mappings[0].anonymous = PageSize, PageSize
	if err := m.Walk(t.Context(), func(int64) error { return nil }); !errors.Is(err, ErrGone) {
		t.Errorf("walk: %v, want %v", err, ErrGone)
	}
	if err := m.ReadPage(make([]byte, PageSize), 0); !errors.Is(err, ErrGone) {
		t.Errorf("read: %v, want %v", err, ErrGone)
	}
}

// Address space without memory behind all that smaps has counted is not searched.
func TestWalkEndsWithTheLastPage(t *testing.T) {
	entries := make(table, 4*walkBatch/entrySize)
	entries[1], entries[3] = entryTaken, entryTaken
	m := memoryOf(entries, &bytesRead{})
	m.mappings[0].anonymous = 2 * PageSize
	m.pagemap = entries[:walkBatch/entrySize+1] // a look beyond would end in an error
	seen := 0
	if err := m.Walk(t.Context(), func(int64) error { seen++; return nil }); err != nil || seen != 2 {
		t.Errorf("%d pages, %v; want 2", seen, err)
	}
}

func TestWalkStopsWhenTheContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := memoryOf(all, &bytesRead{}).Walk(ctx, func(int64) error { return nil }); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}
