// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	"github.com/zramfs/zramfs/internal/telemetry/latency"
)

// The marks lie behind the traces: the number of the next one, and a ring of them. A mark has
// the pages and latencies of reads and writes, and since when and until when they stood so.
const (
	marks     = 8
	markSince = 0
	markUntil = 1
	markAt    = 2 // the counts
	markOps   = 2 // Read and Write
	markOp    = 1 + latency.Buckets
	markSize  = markAt + markOps*markOp // words
	marksLen  = (8*(1+marks*markSize) + pageSize - 1) &^ (pageSize - 1)

	// MarkEvery is the time between two marks while there are requests.
	MarkEvery = 10 * time.Second
	// MarkIdle is the time between two looks whether there are any.
	MarkIdle = time.Minute
	// recentTime is the time that Recent is to be over.
	recentTime = time.Minute
)

func (a *Area) marksAt() int { return a.traceAt(a.slots) }

// mark views the words of a mark.
func (a *Area) mark(number uint64) words {
	return a.words(a.marksAt()+8*(1+int(number%marks)*markSize), markSize)
}

// A count has the pages and then the latencies of reads, and those of writes.
type count [markOps][markOp]uint64

// counted returns the counts of now.
func (a *Area) counted() (c count) {
	for n := range a.slots {
		for op := range c {
			of := a.words(a.slotAt(n)+op*opWords*8, opWords)
			c[op][0] += of[wordBytes].Load() + of[wordSurplus].Load()
			buckets := of[bucketsAt : bucketsAt+latency.Buckets]
			for i := range buckets {
				c[op][1+i] += buckets[i].Load()
			}
		}
	}
	return c
}

// marked returns the counts of a mark.
func marked(m words) (c count) {
	for op := range c {
		for i := range c[op] {
			c[op][i] = m[markAt+op*markOp+i].Load()
		}
	}
	return c
}

// Mark notes the counts of reads and writes for Recent. now is the time that the machine has run,
// without suspensions. It returns when it is to be called next: where there was no request since
// the last mark that one stands until now, so that an idle device is looked at once a minute. One
// goroutine of the process that serves calls it. It allocates nothing.
func (a *Area) Mark(now time.Duration) time.Duration {
	next := &a.words(a.marksAt(), 1)[0]
	number, counts := next.Load(), a.counted()
	if number > 0 {
		if last := a.mark(number - 1); marked(last) == counts {
			last[markUntil].Store(uint64(now))
			return MarkIdle
		}
	}
	m := a.mark(number)
	for op := range counts {
		for i, n := range counts[op] {
			m[markAt+op*markOp+i].Store(n)
		}
	}
	m[markSince].Store(uint64(now))
	m[markUntil].Store(uint64(now))
	next.Store(number + 1)
	return MarkEvery
}

// Recent is what there was in the last minute.
type Recent struct {
	// Over is the time that it is about: a minute, give or take some seconds, and less at first. It
	// is 0 where nothing is known.
	Over time.Duration
	// In and Out are reads and writes.
	In, Out Traffic
}

// Traffic is what requests of a kind have done in a time.
type Traffic struct {
	Pages   uint64 // touched, in part too
	Latency latency.Histogram
}

// Recent returns what there was since the mark that stood nearest to a minute before now, which is
// as in Mark.
func (a *Area) Recent(now time.Duration) (r Recent) {
	next := a.words(a.marksAt(), 1)[0].Load()
	var from words
	for number := next - min(next, marks-1); number < next; number++ { // the oldest may be overwritten now
		m := a.mark(number)
		most, least := now-time.Duration(m[markSince].Load()), now-time.Duration(m[markUntil].Load())
		over := min(max(recentTime, least), most)
		if over > 0 && (from == nil || (over-recentTime).Abs() <= (r.Over-recentTime).Abs()) {
			from, r.Over = m, over
		}
	}
	if from != nil {
		before, counts := marked(from), a.counted()
		r.In, r.Out = since(before[Read], counts[Read]), since(before[Write], counts[Write])
	}
	return r
}

// since returns the traffic between two counts.
func since(before, now [markOp]uint64) Traffic {
	for i := range now {
		now[i] -= min(now[i], before[i])
	}
	return Traffic{Pages: now[0] / pageSize, Latency: latency.Of(now[1:])}
}
