// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"sync"
	"sync/atomic"
)

// A queue is the rest of a batch: positions in its order, which engines take from the head and the
// CPU from the tail, and spans that engines gave back.
type queue struct {
	ends  atomic.Uint64 // head in the upper half, tail in the lower; positions between them are free
	floor atomic.Int64  // the CPU takes nothing before this position while an engine is at work

	mu     sync.Mutex
	wake   sync.Cond    // on mu: a span came back, a chore is there, or the last engine has ended
	over   sync.Cond    // on mu: the last engine has ended
	back   []span       // given back by engines, for the CPU; guarded by mu
	active int          // lanes of engines that may still give items back; guarded by mu
	chores []*chore     // of engines, with parts to be taken; guarded by mu
	asked  atomic.Int32 // the number of chores, to be looked at without mu
}

// A span is the positions from begin to before end.
type span struct{ begin, end int }

func (s span) count() int { return s.end - s.begin }

// reset fills the queue with n positions for a number of lanes of engines.
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

// tail takes the piece of one of the CPU's workers.
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

// cpuShare returns how many of the remaining positions one of the workers takes: fewer towards the
// end.
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

// ended records that a lane of an engine is done.
func (q *queue) ended() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.active--; q.active == 0 {
		q.floor.Store(0)
		q.wake.Broadcast()
		q.over.Broadcast()
	}
}

// rest returns when the last engine has ended.
func (q *queue) rest() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.active > 0 {
		q.over.Wait()
	}
}

// cpu takes a span for a CPU worker. If there is none it waits for the engines, and does their
// chores; once they have ended it returns an empty span.
func (q *queue) cpu(workers int) span {
	for {
		if q.help() {
			continue
		}
		if s := q.tail(workers); s.count() > 0 {
			return s
		}
		q.mu.Lock()
		for len(q.back) == 0 && q.active > 0 && len(q.chores) == 0 {
			q.wake.Wait()
		}
		s, last := q.popBack(workers), q.active == 0
		q.mu.Unlock()
		switch {
		case s.count() > 0:
			return s
		case last:
			return q.tail(workers) // without the floor
		}
	}
}

// popBack takes a span that was given back; q.mu is held.
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
