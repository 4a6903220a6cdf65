// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"sync"
	"sync/atomic"
)

// A backlog holds the requests that a worker has received and not begun to handle. Idle workers
// take from it too.
type backlog struct {
	n    atomic.Int32 // read without the lock
	work atomic.Int64 // likewise: the sum of Request.work

	mu    sync.Mutex
	items []*Request // guarded by mu; a circle with room for every request
	first int        // guarded by mu; index of the oldest
}

// put appends a request.
func (b *backlog) put(r *Request) {
	b.mu.Lock()
	b.items[(b.first+int(b.n.Load()))%len(b.items)] = r
	b.n.Add(1)
	b.work.Add(int64(r.work()))
	r.waits.Store(true)
	b.mu.Unlock()
}

// take removes and returns the oldest request, or nil.
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

// takeLast removes and returns the newest request, or nil.
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

// remove updates the counts. b.mu must be held.
func (b *backlog) remove(r *Request) {
	r.waits.Store(false)
	b.n.Add(-1)
	b.work.Add(-int64(r.work()))
}
