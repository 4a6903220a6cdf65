// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"context"
	"strings"
	"sync"
	"time"
)

// left are the processes that calls of this process have left behind.
var left leftovers

// firstPause is the time for which a call waits for a process that an earlier one has left.
const firstPause = time.Minute

// leftovers are processes that were killed and have not ended, since a server has read their
// request and does not answer, or since they wait for one that has such a request. A program that
// asks a device again and again would leave one more each time, without an end. It leaves another
// one after a minute, and then after twice the time each: the path may be another device's by now,
// below which the one that does not answer was unmounted.
type leftovers struct {
	mu    sync.Mutex
	calls map[string]*leftover
}

// A leftover is the last process of a call.
type leftover struct {
	gone  <-chan struct{} // closed once it has ended
	until time.Time       // from then on the call leaves another one
	pause time.Duration   // until then
}

// keyOf names a call that programs make again and again; empty for another one.
func keyOf(op Op, args []string) string {
	if op != Read && op != Probe && op != Claimed {
		return ""
	}
	return string(op) + "\x00" + strings.Join(args, "\x00")
}

// wait waits until the process that a call of that key has left has ended; it returns false where
// ctx ends before.
func (l *leftovers) wait(ctx context.Context, key string) bool {
	l.mu.Lock()
	last := l.calls[key]
	l.mu.Unlock()
	if last == nil || !time.Now().Before(last.until) {
		return true
	}
	select {
	case <-last.gone:
		return true
	case <-ctx.Done():
		return false
	}
}

// note remembers a process until it has ended.
func (l *leftovers) note(key string, gone <-chan struct{}, now time.Time) {
	if key == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = make(map[string]*leftover)
	}
	this := &leftover{gone: gone, pause: firstPause}
	if last := l.calls[key]; last != nil {
		this.pause = 2 * last.pause
	}
	this.until = now.Add(this.pause)
	l.calls[key] = this
	go func() {
		<-gone
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.calls[key] == this {
			delete(l.calls, key)
		}
	}()
}
