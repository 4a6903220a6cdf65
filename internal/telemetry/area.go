// SPDX-License-Identifier: Apache-2.0

// Package telemetry knows the memory in which the processes of a device leave what they have done:
// counts and latencies of requests, the last requests one by one, and events. The memory is shared
// and outlives the worker, so nothing begins anew with the next one, and other processes read it
// without asking the worker.
//
// The layout, in bytes; all words have 8 and are little-endian:
//
//	0       header: magic, version, slots, entries of a slot's trace
//	4 KiB   the store's totals: rows of 64 bytes, see Totals
//	12 KiB  events: the number of events, and at 13 KiB one count a kind
//	16 KiB  the last events, 256 bytes each
//	48 KiB  the slots: counts and latencies, 8 KiB each
//	...     the slots' traces, 32 bytes an entry
//	...     marks: the counts of reads and writes at times of the last minute, see Mark
//
// A slot has one writer at a time, the thread that has it. It writes with plain stores: on amd64 an
// atomic one would cost more than all else that is done here. Both architectures store an aligned
// word whole, and an entry of several words has a checksum over them, so readers take it whole or
// leave it. Readers are in other processes as a rule, where the Go memory model says nothing.
package telemetry

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

const (
	magic   = 0x31_4c_45_54_53_46_52_5a // "ZRFSTEL1"
	version = 2

	totalsAt = 4 << 10
	eventsAt = 12 << 10
	kindsAt  = 13 << 10
	ringAt   = 16 << 10
	slotsAt  = 48 << 10
	slotSize = 8 << 10

	// maxSlots bounds the slots, maxEntries the entries of all traces.
	maxSlots   = 64
	maxEntries = 16 << 10
	entrySize  = 32
)

// Words of the header.
const (
	wordMagic = iota
	wordVersion
	wordSlots
	wordEntries
	headerWords
)

// ErrLayout is returned for memory that is of another version, or damaged.
var ErrLayout = errors.New("the counters' memory is of another version, or damaged")

// An Area is the memory. It stays the caller's: it must be mapped as long as the Area is in use.
// Its methods are safe for concurrent use.
type Area struct {
	mem     []byte // immutable slice header
	slots   int    // immutable
	entries int    // of a slot's trace, a power of two; immutable
}

// Size returns the size in bytes of an area with a number of slots, a multiple of 4096.
func Size(slots int) int {
	return slotsAt + slots*(slotSize+entriesOf(slots)*entrySize) + marksLen
}

// entriesOf returns the number of entries of each trace: together they have maxEntries at most.
func entriesOf(slots int) int {
	return 1 << (bits.Len(uint(maxEntries/max(slots, 1))) - 1)
}

// Format lays an area out in memory of zeros, which begins on a page. It fails with ErrLayout where
// the number of slots is not 1 to 64 or the memory is smaller than Size.
func Format(mem []byte, slots int) (*Area, error) {
	if slots < 1 || slots > maxSlots || len(mem) < Size(slots) {
		return nil, fmt.Errorf("%w: %d slots in %d bytes", ErrLayout, slots, len(mem))
	}
	a := &Area{mem: mem, slots: slots, entries: entriesOf(slots)}
	header := a.words(0, headerWords)
	header[wordVersion].Store(version)
	header[wordSlots].Store(uint64(a.slots))
	header[wordEntries].Store(uint64(a.entries))
	header[wordMagic].Store(magic)
	return a, nil
}

// Open returns the area that Format has laid out, in this process or another one. It fails with
// ErrLayout. A reader's memory may be mapped read-only.
func Open(mem []byte) (*Area, error) {
	a := &Area{mem: mem}
	if len(mem) < slotsAt {
		return nil, ErrLayout
	}
	header := a.words(0, headerWords)
	if header[wordMagic].Load() != magic {
		return nil, ErrLayout
	}
	if v := header[wordVersion].Load(); v != version {
		return nil, fmt.Errorf("%w: version %d, this program has %d", ErrLayout, v, version)
	}
	slots, entries := header[wordSlots].Load(), header[wordEntries].Load()
	if slots < 1 || slots > maxSlots || entries != uint64(entriesOf(int(slots))) || len(mem) < Size(int(slots)) {
		return nil, ErrLayout
	}
	a.slots, a.entries = int(slots), int(entries)
	return a, nil
}

// Slots returns the number of slots.
func (a *Area) Slots() int { return a.slots }

// words are those of a part of an area.
type words = []atomic.Uint64

// words views n words at a byte offset, a multiple of 8, as atomics.
func (a *Area) words(at, n int) words {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&a.mem[at])), n)
}

// plain views the same words for their one writer.
func (a *Area) plain(at, n int) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&a.mem[at])), n)
}

func (a *Area) slotAt(n int) int  { return slotsAt + n*slotSize }
func (a *Area) traceAt(n int) int { return slotsAt + a.slots*slotSize + n*a.entries*entrySize }

const (
	// TotalsRows is the number of rows of Totals, all that have room.
	TotalsRows = (eventsAt - totalsAt) / (8 * TotalsWords)
	// TotalsWords is the number of words of a row.
	TotalsWords = 8
)

// Totals views the words in which a store keeps what it has counted, row by row.
func (a *Area) Totals() []atomic.Uint64 { return a.words(totalsAt, TotalsRows*TotalsWords) }
