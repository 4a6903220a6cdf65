// SPDX-License-Identifier: Apache-2.0

package simkernel

import (
	"math"
	"time"
)

// A Mutex stands in for sync.Mutex.
type Mutex struct{ locked bool }

// Lock is that of sync.Mutex.
func (m *Mutex) Lock() {
	for m.locked && !dying() {
		Until(m.free)
	}
	m.locked = true
}

// dying reports whether the task runs its deferred functions, after its process has died.
func dying() bool { return the != nil && the.running.dying }

func (m *Mutex) free() bool { return !m.locked }

// TryLock is that of sync.Mutex.
func (m *Mutex) TryLock() bool {
	was := m.locked
	m.locked = true
	return !was
}

// Unlock is that of sync.Mutex. A task that dies may hold the lock of another one: nothing of its
// process goes on.
func (m *Mutex) Unlock() {
	if !m.locked && !dying() {
		panic("world: unlock of an unlocked mutex")
	}
	m.locked = false
}

// An RWMutex stands in for sync.RWMutex. As there a writer that waits keeps new readers out, also
// one that has the lock for reading already, and those that it has kept out go before the next
// writer.
type RWMutex struct {
	readers int
	written bool
	waiting int // writers
	kept    int // readers that wait
	writes  int // that have ended
}

// Lock is that of sync.RWMutex.
func (m *RWMutex) Lock() {
	m.waiting++
	for (m.readers > 0 || m.written) && !dying() {
		Until(func() bool { return m.readers == 0 && !m.written })
	}
	m.waiting--
	m.written = true
}

// TryLock is that of sync.RWMutex.
func (m *RWMutex) TryLock() bool {
	if m.readers > 0 || m.written {
		return false
	}
	m.written = true
	return true
}

// Unlock is that of sync.RWMutex.
func (m *RWMutex) Unlock() {
	m.written = false
	m.writes++
	m.readers, m.kept = m.readers+m.kept, 0
}

// RLock is that of sync.RWMutex.
func (m *RWMutex) RLock() {
	if !m.written && m.waiting == 0 {
		m.readers++
		return
	}
	came := m.writes
	m.kept++ // Unlock counts it among the readers
	for m.writes == came && !dying() {
		Until(func() bool { return m.writes != came })
	}
}

// RUnlock is that of sync.RWMutex.
func (m *RWMutex) RUnlock() { m.readers-- }

// TryRLock is that of sync.RWMutex.
func (m *RWMutex) TryRLock() bool {
	if m.written || m.waiting > 0 {
		return false
	}
	m.readers++
	return true
}

// A WaitGroup stands in for sync.WaitGroup.
type WaitGroup struct{ n int }

// Go is that of sync.WaitGroup.
func (g *WaitGroup) Go(f func()) {
	g.n++
	Go(func() {
		defer func() { g.n-- }()
		f()
	})
}

// Wait is that of sync.WaitGroup.
func (g *WaitGroup) Wait() { Until(func() bool { return g.n == 0 }) }

// OnceValue stands in for sync.OnceValue: f runs again in another process, and so it does in the
// next world.
func OnceValue[T any](f func() T) func() T {
	var of *Process
	var v T
	return func() T {
		if the == nil || Current() != of {
			if v = f(); the != nil {
				of = Current()
			}
		}
		return v
	}
}

// R is the case of a Select that receives from c and drops what it receives.
func R[T any](c <-chan T) func() bool {
	return func() bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
}

// S is the case of a Select that sends v to c, which is buffered.
func S[T any](c chan<- T, v T) func() bool {
	return func() bool {
		select {
		case c <- v:
			return true
		default:
			return false
		}
	}
}

// Recv stands in for a receive that drops what it receives. No task may receive from c while
// another one sends, unless c is buffered.
func Recv[T any](c <-chan T) { Until(R(c)) }

// Send stands in for sending to a buffered channel.
func Send[T any](c chan<- T, v T) { Until(S(c, v)) }

// Select stands in for a select statement: it returns the number of the case that went on, or -1
// where none can and there is a default.
func Select(orDefault bool, cases ...func() bool) (chosen int) {
	chosen = -1
	if the.running.dying {
		return chosen
	}
	try := func() bool {
		first := the.rng.IntN(len(cases))
		for i := range cases {
			if n := (first + i) % len(cases); cases[n]() {
				chosen = n
				return true
			}
		}
		return false
	}
	if orDefault {
		try()
		return chosen
	}
	Until(try)
	return chosen
}

// A Timer stands in for time.Timer.
type Timer struct {
	// C is that of time.Timer.
	C  chan time.Time
	at time.Duration
}

// NewTimer stands in for time.NewTimer.
func NewTimer(d time.Duration) *Timer {
	t := &Timer{C: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// Reset is that of time.Timer.
func (t *Timer) Reset(d time.Duration) bool {
	active := t.Stop()
	t.at = the.Elapsed() + max(d, 1)
	the.timers, the.due = append(the.timers, t), min(the.due, t.at)
	return active
}

// Stop is that of time.Timer.
func (t *Timer) Stop() bool {
	select {
	case <-t.C:
	default:
	}
	for i, other := range the.timers {
		if other == t {
			the.timers = append(the.timers[:i], the.timers[i+1:]...)
			return true
		}
	}
	return false
}

// fire sends the time to the channels of timers that are due.
func (w *World) fire() {
	if w.due > w.now {
		return
	}
	w.due = math.MaxInt64
	for i := 0; i < len(w.timers); {
		t := w.timers[i]
		if t.at > w.now {
			w.due = min(w.due, t.at)
			i++
			continue
		}
		w.timers = append(w.timers[:i], w.timers[i+1:]...)
		t.C <- birth.Add(w.now)
	}
}

// After stands in for time.After.
func After(d time.Duration) <-chan time.Time { return NewTimer(d).C }

// Now stands in for time.Now.
func Now() time.Time {
	if the == nil {
		return birth
	}
	return birth.Add(the.Elapsed())
}

// Since stands in for time.Since.
func Since(t time.Time) time.Duration { return Now().Sub(t) }

// Processors is how many the world has.
const Processors = 2

// GOMAXPROCS stands in for runtime.GOMAXPROCS.
func GOMAXPROCS(int) int { return Processors }

// NumCPU stands in for runtime.NumCPU.
func NumCPU() int { return Processors }

// LockOSThread stands in for runtime.LockOSThread.
func LockOSThread() {}

// UnlockOSThread stands in for runtime.UnlockOSThread.
func UnlockOSThread() {}
