// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"cmp"
	"slices"
	"syscall"
	"time"
)

// An entry of a trace, bits from the lowest up:
//
//	word 0  64 when the request was received, nanoseconds of Unix time
//	word 1  40 first page; 8 codec; 8 error number; 8 kind
//	word 2  40 nanoseconds that it took; 24 pages
//	word 3  24 bytes that the pages take compressed; 40 checksum over that and the entry's number
//
// A value that is too large for its bits has all of them set.
const entryWords = entrySize / 8

// fit returns n, or the largest number of width bits if n is larger.
func fit(n uint64, width uint) uint64 { return min(n, 1<<width-1) }

// leave writes the next entry.
func (s *Slot) leave(r *Request) {
	number := s.words[wordNext]
	entry := s.trace[int(number)&(len(s.trace)/entryWords-1)*entryWords:][:entryWords]
	w0 := uint64(r.Began.UnixNano())
	w1 := fit(r.Page, 40) | uint64(r.Stored.Codec)<<40 | fit(uint64(r.Errno), 8)<<48 | uint64(r.Op)<<56
	w2 := fit(uint64(max(r.Took, 0)), 40) | fit(uint64(r.Pages), 24)<<40
	size := fit(uint64(r.Stored.Bytes), 24)
	entry[0], entry[1], entry[2], entry[3] = w0, w1, w2, size|checksum(number, w0, w1, w2, size)<<24
	s.words[wordNext] = number + 1
}

// checksum mixes the number of an entry and its words into 40 bits, so that words of two entries do
// not pass for one.
func checksum(number uint64, words ...uint64) uint64 {
	sum := number ^ 0x9E3779B97F4A7C15
	for _, w := range words {
		sum = (sum ^ w) * 0xBF58476D1CE4E5B9
		sum ^= sum >> 29
	}
	return sum >> 24
}

// A Trace is a request as the trace has it.
type Trace struct {
	Slot   int // of the thread that carried it out
	Began  time.Time
	Took   time.Duration
	Op     Op
	Page   uint64 // the first one
	Pages  int
	Errno  syscall.Errno
	Stored Stored
}

// A Cursor is how far a reader has read the traces. Its zero value stands at the oldest entry.
type Cursor struct {
	next [maxSlots]uint64
	used bool // also where some slots had no entry
}

// Traces returns the entries after the cursor, the oldest first, and moves it on. lost is how many
// were overwritten since the cursor stood there, or are during the call; it is 0 for a cursor that
// had not been used.
func (a *Area) Traces(c *Cursor) (all []Trace, lost uint64) {
	for n := range a.slots {
		next := a.words(a.slotAt(n), slotWords)[wordNext].Load()
		from := c.next[n]
		if oldest := next - min(next, uint64(a.entries)); from < oldest {
			if c.used {
				lost += oldest - from
			}
			from = oldest
		}
		for ; from < next; from++ {
			if t, ok := a.traceOf(n, from); ok {
				all = append(all, t)
			} else if c.used {
				lost++
			}
		}
		c.next[n] = max(next, c.next[n])
	}
	c.used = true
	slices.SortStableFunc(all, func(a, b Trace) int {
		return cmp.Compare(a.Began.UnixNano(), b.Began.UnixNano())
	})
	return all, lost
}

// traceOf reads an entry; ok is false where a worker overwrites it during the call.
func (a *Area) traceOf(slot int, number uint64) (t Trace, ok bool) {
	words := a.words(a.traceAt(slot)+int(number)&(a.entries-1)*entrySize, entryWords)
	w3, w0, w1, w2 := words[3].Load(), words[0].Load(), words[1].Load(), words[2].Load()
	size := w3 & (1<<24 - 1)
	if w3>>24 != checksum(number, w0, w1, w2, size) {
		return Trace{}, false
	}
	return Trace{
		Slot: slot, Began: time.Unix(0, int64(w0)), Took: time.Duration(w2 & (1<<40 - 1)), Op: Op(w1 >> 56),
		Page: w1 & (1<<40 - 1), Pages: int(w2 >> 40), Errno: syscall.Errno(w1 >> 48 & 0xff),
		Stored: Stored{Codec: uint8(w1 >> 40), Bytes: uint32(size)},
	}, true
}
