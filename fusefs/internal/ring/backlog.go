// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"sync"
	"sync/atomic"
)

// A backlog holds the requests that a worker has and does not yet handle. Other
// workers take from it when they have nothing else to do.
type backlog struct {
	n    atomic.Int32 // to look without the lock
	work atomic.Int64 // likewise: the sum of Request.work

	mu    sync.Mutex
	items []*Request // guarded by mu; a circle, as long as there are requests at all
	first int        // guarded by mu: where the oldest is
}

// put appends.
func (b *backlog) put(r *Request) {
	b.mu.Lock()
	b.items[(b.first+int(b.n.Load()))%len(b.items)] = r
	b.n.Add(1)
	b.work.Add(int64(r.work()))
	r.waits.Store(true)
	b.mu.Unlock()
}

// take removes the oldest, if there is any.
func (b *backlog) take() *Request {
	if b.n.Load() == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n.Load() == 0 {
		return nil
	}
	r := b.items[b.first]
	b.first = (b.first + 1) % len(b.items)
	b.remove(r)
	return r
}

// takeLast removes the newest, if there is any.
func (b *backlog) takeLast() *Request {
	if b.n.Load() == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.n.Load()
	if n == 0 {
		return nil
	}
	r := b.items[(b.first+int(n)-1)%len(b.items)]
	b.remove(r)
	return r
}

// remove counts what was taken. b.mu must be held.
func (b *backlog) remove(r *Request) {
	r.waits.Store(false)
	b.n.Add(-1)
	b.work.Add(-int64(r.work()))
}
