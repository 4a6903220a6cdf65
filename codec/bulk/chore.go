// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"slices"
	"sync"
)

// choreGrain is the items of a chore that a worker takes at a time: as many as of a piece.
const choreGrain = cpuMax

// A chore is work of an engine's lane that takes the CPU's time, such as copying pages. The CPU's
// workers do parts of it before they take pieces of their own: the engine waits for it, and it
// takes less time for each item than the CPU's own way.
type chore struct {
	do   func(from, to int) // immutable
	n    int                // items; immutable
	next int                // the first item that is not taken; guarded by queue.mu
	left sync.WaitGroup     // parts that have not ended
}

// Spread calls do for parts of the numbers from 0 to before n, from several goroutines at once, and
// returns when all calls have returned. An engine's Do uses it for what it has a core do with the
// items of a piece. A piece that no planner made is not divided.
func (p Piece) Spread(n int, do func(from, to int)) {
	if p.queue == nil || n <= choreGrain {
		do(0, n)
		return
	}
	p.queue.spread(n, do)
}

// spread offers a chore to the workers, and takes part until nothing is left.
func (q *queue) spread(n int, do func(from, to int)) {
	c := &chore{do: do, n: n}
	c.left.Add((n + choreGrain - 1) / choreGrain)
	q.mu.Lock()
	q.chores = append(q.chores, c)
	q.asked.Add(1)
	q.wake.Broadcast()
	q.mu.Unlock()
	for q.part(c) {
	}
	c.left.Wait()
}

// help does a part of the oldest chore, and reports whether there was one.
func (q *queue) help() bool { return q.asked.Load() > 0 && q.part(nil) }

// part does a part of a chore, or of the oldest if it is nil, and reports whether there was one.
func (q *queue) part(c *chore) bool {
	q.mu.Lock()
	if c == nil && len(q.chores) > 0 {
		c = q.chores[0]
	}
	if c == nil || c.next == c.n {
		q.mu.Unlock()
		return false
	}
	from, to := c.next, min(c.next+choreGrain, c.n)
	if c.next = to; to == c.n {
		q.chores = slices.DeleteFunc(q.chores, func(o *chore) bool { return o == c })
		q.asked.Add(-1)
	}
	q.mu.Unlock()
	c.do(from, to)
	c.left.Done()
	return true
}
