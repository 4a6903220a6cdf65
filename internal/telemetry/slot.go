// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"math/bits"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/telemetry/latency"
)

// An Op is a kind of request.
type Op uint8

// The kinds of requests. Their numbers are part of the layout.
const (
	Read Op = iota
	Write
	Discard
	Flush

	// Ops is the number of kinds.
	Ops
)

// String returns the name of a kind.
func (o Op) String() string {
	if o < Ops {
		return [...]string{"read", "write", "discard", "flush"}[o]
	}
	return "unknown"
}

// Words of a slot: those of each kind of request, and then those of the slot.
const (
	wordTime    = iota // nanoseconds of all requests
	wordBytes          // of all requests
	wordSurplus        // bytes of the pages that requests touched in part, which they did not
	wordErrors         // requests that ended in an error
	wordLongest        // nanoseconds of the longest request
	wordBatches        // requests of 2 pages, 3 to 4, 5 to 8, ...; those of one page are the rest
)

const (
	batches    = 11 // words from wordBatches on
	bucketsAt  = wordBatches + batches
	opWords    = bucketsAt + latency.Buckets + 7 // 232, a multiple of a cache line
	wordStalls = int(Ops)*opWords + iota - 2
	wordStalled
	wordNext // the number of the next entry of the trace
	slotWords
)

const pageSize = 4096

// A Slot is the part of an area that one thread writes. Its method belongs to that thread.
type Slot struct {
	words []uint64
	trace []uint64
}

// A Request is one that was carried out and answered.
type Request struct {
	Op     Op
	Began  time.Time     // when it was received
	Took   time.Duration // until the answer was sent
	Page   uint64        // the first page
	Pages  int           // how many were touched, in part too
	Bytes  uint64        // how many of their bytes
	Errno  syscall.Errno
	Stored Stored        // what the pages are stored as
	Stall  time.Duration // how long it waited for memory, or for others that did; 0 for not at all
}

// Stored is what pages of a request are stored as.
type Stored struct {
	Codec uint8  // the codec.ID of all, or Nothing, or Mixed
	Bytes uint32 // compressed
}

const (
	// Nothing is the Codec where no page is stored, as after a discard.
	Nothing = 0xff
	// Mixed is the Codec of pages with different ones.
	Mixed = 0xfe
)

// Slot returns slot n, from 0 to Slots - 1.
func (a *Area) Slot(n int) *Slot {
	return &Slot{words: a.plain(a.slotAt(n), slotWords), trace: a.plain(a.traceAt(n), a.entries*entrySize/8)}
}

// Note counts a request and leaves it in the trace. It makes no system call and allocates nothing.
func (s *Slot) Note(r *Request) {
	words := s.words[int(r.Op)*opWords:][:opWords]
	took := uint64(max(r.Took, 0))
	words[bucketsAt+latency.Index(took)]++
	words[wordTime] += took
	words[wordBytes] += r.Bytes
	if whole := uint64(r.Pages) * pageSize; whole != r.Bytes {
		words[wordSurplus] += whole - r.Bytes
	}
	if r.Pages > 1 {
		words[wordBatches+min(bits.Len(uint(r.Pages-1)), batches)-1]++
	}
	if took > words[wordLongest] {
		words[wordLongest] = took
	}
	if r.Errno != 0 {
		words[wordErrors]++
	}
	if r.Stall > 0 {
		s.words[wordStalls]++
		s.words[wordStalled] += uint64(r.Stall)
	}
	s.leave(r)
}

// An Operation is what is known about all requests of a kind since the device was made.
type Operation struct {
	Op       Op
	Requests uint64
	Pages    uint64 // touched, in part too
	Bytes    uint64
	Errors   uint64        // requests that ended in an error
	Time     time.Duration // of all together
	Longest  time.Duration
	Latency  latency.Histogram
	Batches  []Batch // how many pages requests had
}

// A Batch is the number of requests with up to Pages pages, and with more than half of that.
type Batch struct {
	Pages    uint64
	Requests uint64
}

// Operations returns what all slots have counted, by kind. A request that a worker answers during
// the call may be counted in part.
func (a *Area) Operations() [Ops]Operation {
	var all [Ops]Operation
	for op := range all {
		all[op] = a.operation(Op(op))
	}
	return all
}

func (a *Area) operation(op Op) Operation {
	var sum [opWords]uint64
	for n := range a.slots {
		words := a.words(a.slotAt(n)+int(op)*opWords*8, opWords)
		for i := range words {
			if v := words[i].Load(); i == wordLongest {
				sum[i] = max(sum[i], v)
			} else {
				sum[i] += v
			}
		}
	}
	o := Operation{
		Op: op, Bytes: sum[wordBytes], Pages: (sum[wordBytes] + sum[wordSurplus]) / pageSize, Errors: sum[wordErrors],
		Time: time.Duration(sum[wordTime]), Longest: time.Duration(sum[wordLongest]),
		Latency: latency.Of(sum[bucketsAt : bucketsAt+latency.Buckets]),
	}
	o.Requests = o.Latency.Count()
	o.Batches = batchesOf(o.Requests, sum[wordBatches:][:batches])
	return o
}

// batchesOf lists the sizes that occurred. Requests without any page, as flushes are, count as
// those with one.
func batchesOf(requests uint64, larger []uint64) []Batch {
	all := []Batch{}
	one := requests
	for i, n := range larger {
		one -= min(one, n)
		if n > 0 {
			all = append(all, Batch{2 << i, n})
		}
	}
	if one > 0 {
		all = append([]Batch{{1, one}}, all...)
	}
	return all
}

// Stalls returns how many requests had to wait for memory, and how long all together.
func (a *Area) Stalls() (requests uint64, waited time.Duration) {
	for n := range a.slots {
		words := a.words(a.slotAt(n), slotWords)
		requests += words[wordStalls].Load()
		waited += time.Duration(words[wordStalled].Load())
	}
	return requests, waited
}
