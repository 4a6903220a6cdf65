// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"sync"
	"sync/atomic"
)

// A queue is what is left of a batch: positions in its order, which engines take from the head and
// the CPU from the tail, and what came back from engines.
type queue struct {
	ends  atomic.Uint64 // head in the upper half, tail in the lower: what is in between nobody has taken
	floor atomic.Int64  // the CPU takes nothing before this position while an engine is at work

	mu     sync.Mutex
	wake   sync.Cond // on mu: something came back, or the last engine has ended
	back   []span    // came back from engines, for the CPU; guarded by mu
	active int       // lanes of engines that may still give something back; guarded by mu
}

// A span is positions from begin on, to before end.
type span struct{ begin, end int }

func (s span) count() int { return s.end - s.begin }

// reset makes the queue one of n positions with so many lanes of engines.
func (q *queue) reset(n, floor, lanes int) {
	q.ends.Store(uint64(n))
	q.floor.Store(int64(floor))
	if lanes == 0 {
		q.floor.Store(0)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.back, q.active = q.back[:0], lanes
}

// left returns the ends.
func (q *queue) left() span {
	ends := q.ends.Load()
	return span{int(ends >> 32), int(uint32(ends))}
}

// head takes at most n positions, none from limit on.
func (q *queue) head(n, limit int) span {
	for {
		ends := q.ends.Load()
		begin, tail := int(ends>>32), int(uint32(ends))
		end := min(begin+n, tail, limit)
		if end <= begin {
			return span{}
		}
		if q.ends.CompareAndSwap(ends, uint64(end)<<32|uint64(tail)) {
			return span{begin, end}
		}
	}
}

// tail takes what a CPU worker takes at a time, of so many.
func (q *queue) tail(workers int) span {
	for {
		ends := q.ends.Load()
		first, end := max(int(ends>>32), int(q.floor.Load())), int(uint32(ends))
		if end <= first {
			return span{}
		}
		begin := max(first, end-cpuShare(end-first, workers))
		if q.ends.CompareAndSwap(ends, ends>>32<<32|uint64(begin)) {
			return span{begin, end}
		}
	}
}

// cpuShare is what one of workers takes of what is left: less towards the end.
func cpuShare(left, workers int) int {
	if left <= cpuMax && workers == 1 {
		return left
	}
	return max(cpuMin, min(cpuMax, left/(2*workers)))
}

// giveBack leaves a span to the CPU.
func (q *queue) giveBack(s span) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last := len(q.back) - 1; last >= 0 && q.back[last].end == s.begin {
		q.back[last].end = s.end
	} else {
		q.back = append(q.back, s)
	}
	q.wake.Broadcast()
}

// ended says that a lane of an engine will give nothing back any more.
func (q *queue) ended() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.active--; q.active == 0 {
		q.floor.Store(0)
		q.wake.Broadcast()
	}
}

// cpu takes a span for a CPU worker. When there is none it waits for the engines, and when those
// have ended it returns an empty one.
func (q *queue) cpu(workers int) span {
	for {
		if s := q.tail(workers); s.count() > 0 {
			return s
		}
		q.mu.Lock()
		for len(q.back) == 0 && q.active > 0 {
			q.wake.Wait()
		}
		s, last := q.popBack(workers), q.active == 0
		q.mu.Unlock()
		switch {
		case s.count() > 0:
			return s
		case last:
			return q.tail(workers) // there is no floor any more
		}
	}
}

// popBack takes a span of what came back; q.mu is held.
func (q *queue) popBack(workers int) span {
	last := len(q.back) - 1
	if last < 0 {
		return span{}
	}
	s := q.back[last]
	s.begin = max(s.begin, s.end-cpuShare(s.count(), workers))
	if q.back[last].end = s.begin; q.back[last].count() == 0 {
		q.back = q.back[:last]
	}
	return s
}
