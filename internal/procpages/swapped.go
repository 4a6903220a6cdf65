// SPDX-License-Identifier: Apache-2.0

package procpages

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
)

// A Run is a range of pages of a process that all lie in swap.
type Run struct {
	First int64 // address of the first page
	Pages int64
}

// Bits of the entry of a page that lies in swap. The types from firstSpecial on are no swap areas
// but marks, such as that of a page that the kernel is moving; kernels have at least that many
// types of areas. The kernel shows type and slot to holders of CAP_SYS_ADMIN alone, and zero to
// others.
const (
	entryGuard   = 1 << 58 // a guard page (madvise(2), MADV_GUARD_INSTALL)
	typeBits     = 5
	firstSpecial = 23
	slotMask     = 1<<50 - 1
)

// manyAddresses is the size of a mapping, in bytes, that is searched only until as many pages are
// found as the kernel counts: reading the entries of a terabyte takes a second or more.
const manyAddresses = 64 << 30

// A SwapFinder finds the pages of processes that lie in swap, each once: processes share pages
// after a fork. It finds private memory that the process may read; shared memory has no entries
// while it lies in swap. It is used by one goroutine.
type SwapFinder struct {
	entries [walkBatch]byte
	slots   [1 << typeBits][]uint64 // a bit for each slot found, by type of area
}

// Find returns the runs of pages of a process that no earlier Find has returned, the longest first.
// The error wraps [ErrGone] or fs.ErrPermission if that is the reason.
func (f *SwapFinder) Find(ctx context.Context, pid int) (runs []Run, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("look for the swapped pages of process %d: %w", pid, Explain(gone(err)))
		}
	}()
	count, err := CountOf(pid)
	if err != nil || count.Swapped == 0 {
		return nil, err
	}
	mappings, err := mappingsOf(pid)
	if err != nil {
		return nil, err
	}
	pagemap, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pagemap.Close()) }()
	return f.search(ctx, pagemap, mappings, count.Swapped/PageSize)
}

// mappingsOf returns the private, readable mappings of a process, the smallest first: what is found
// in them makes the search of the largest shorter.
func mappingsOf(pid int) (all []mapping, err error) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, maps.Close()) }()
	err = eachMapping(maps, func(m mapping) {
		if m.usable {
			all = append(all, m)
		}
	})
	slices.SortFunc(all, func(a, b mapping) int { return cmp.Compare(a.end-a.first, b.end-b.first) })
	return all, err
}

// search reads the entries of the mappings. counted is how many pages the kernel counts.
func (f *SwapFinder) search(ctx context.Context, pagemap file, mappings []mapping, counted int64) ([]Run, error) {
	s := search{finder: f}
	for _, m := range mappings {
		for address := m.first; address < m.end; {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			if m.end-m.first >= manyAddresses && s.found >= counted {
				break
			}
			entries, err := f.read(pagemap, address, m.end)
			if err != nil {
				return nil, err
			}
			for at := 0; at < len(entries); at += entrySize {
				s.take(address, binary.NativeEndian.Uint64(entries[at:]))
				address += PageSize
			}
		}
		s.endRun()
	}
	slices.SortFunc(s.runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.First, b.First))
	})
	return s.runs, nil
}

// read reads the entries from address on, up to end or as many as fit.
func (f *SwapFinder) read(pagemap file, address, end int64) ([]byte, error) {
	want := min(walkBatch, (end-address)/PageSize*entrySize)
	n, err := pagemap.ReadAt(f.entries[:want], address/PageSize*entrySize)
	if n < entrySize {
		return nil, fmt.Errorf("read pagemap at %#x: %w", address, ended(err))
	}
	return f.entries[:n/entrySize*entrySize], nil
}

// search is one search of a SwapFinder.
type search struct {
	finder *SwapFinder
	runs   []Run
	run    Run   // the run that still grows; of no pages for none
	found  int64 // pages in swap, those found before included
}

// take looks at one page.
func (s *search) take(address int64, entry uint64) {
	if !inSwap(entry) {
		s.endRun()
		return
	}
	s.found++
	if !s.finder.first(entry) {
		s.endRun()
		return
	}
	if s.run.Pages == 0 {
		s.run.First = address
	}
	s.run.Pages++
}

func (s *search) endRun() {
	if s.run.Pages > 0 {
		s.runs = append(s.runs, s.run)
		s.run = Run{}
	}
}

// inSwap reports whether an entry is of a page in a swap area.
func inSwap(entry uint64) bool {
	return entry&(entrySwapped|entryPresent|entryGuard) == entrySwapped && entry&(1<<typeBits-1) < firstSpecial
}

// first notes the slot of an entry and reports whether it is the first entry of that slot. Slot 0
// is the header of an area, so it stands for a slot that the kernel does not show.
func (f *SwapFinder) first(entry uint64) bool {
	slot := entry >> typeBits & slotMask
	if slot == 0 {
		return true
	}
	bits := &f.slots[entry&(1<<typeBits-1)]
	for uint64(len(*bits)) <= slot/64 {
		*bits = append(*bits, 0)
	}
	if (*bits)[slot/64]>>(slot%64)&1 == 1 {
		return false
	}
	(*bits)[slot/64] |= 1 << (slot % 64)
	return true
}
