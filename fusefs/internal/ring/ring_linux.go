// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Rings serve one connection. [New] makes them, [Start] begins, and [Wait] tells
// when the connection has ended.
type Rings struct {
	// Immutable after New.
	handle  func(worker int, r *Request) Verdict
	tuning  tuning
	memory  []byte // keeps it alive
	workers []*worker
	// requests are all entries. The slice is immutable, each is its holder's.
	requests []Request
	start    []chan beginning

	live    atomic.Int64  // entries that the kernel has not taken back
	crowded atomic.Int32  // workers that others should help
	turns   atomic.Uint64 // how often draining began or ended: odd while it goes on
	filler  atomic.Uint64 // the number of the last filler request
	node    atomic.Uint64 // which file filler requests are about
	// fillError is why one could not be made.
	fillError atomic.Pointer[error]
	online    atomic.Pointer[CPUs] // when draining began

	opened, registered chan error
	started            bool // guarded by the caller: Start and Close do not run side by side
	running            sync.WaitGroup
}

// New makes a ring and a thread for each worker, and gives the kernel nothing yet.
// Whoever calls it before answering INIT can still leave FUSE_OVER_IO_URING out of
// the answer when it fails.
func New(c Config) (*Rings, error) { return newRings(c, defaultTuning) }

func newRings(c Config, t tuning) (*Rings, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	n := c.CPUs.Workers()
	s := &Rings{
		handle: c.Handle, tuning: t, memory: c.Memory,
		opened: make(chan error, n), registered: make(chan error, n),
	}
	for i := range n {
		bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make eventfd: %w", err), s.Close())
		}
		w := &worker{rings: s, index: i, cpu: c.CPUs.online[i], bell: os.NewFile(uintptr(bell), "bell"), bellFD: bell}
		w.backlog.items = make([]*Request, c.CPUs.total(c.Entries))
		s.workers, s.start = append(s.workers, w), append(s.start, make(chan beginning, 1))
	}
	s.divide(c)
	for i, w := range s.workers {
		s.running.Add(1)
		go w.run(s.opened, s.start[i], s.registered)
	}
	if err := gather(s.opened, n); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// divide makes the entries from the memory.
func (s *Rings) divide(c Config) {
	places := c.CPUs.places(c.Entries)
	s.requests = make([]Request, len(places))
	s.live.Store(int64(len(places)))
	slots, buffers := c.Memory[:headArea(len(places))], c.Memory[headArea(len(places)):]
	for i, p := range places {
		head, buffer := slots[i*slotSize:][:slotSize:slotSize], buffers[i*c.Payload:][:c.Payload:c.Payload]
		r := &s.requests[i]
		r.Header, r.Arg, r.Out = head[:inHeaderSize:inHeaderSize], head[offArg:][:128:128], buffer
		r.home, r.head, r.queue, r.index = s.workers[p.worker], head, p.queue, i
	}
}

// gather takes n answers.
func gather(from <-chan error, n int) error {
	var err error
	for range n {
		err = errors.Join(err, <-from)
	}
	return err
}

// Start gives all entries to the connection of that /dev/fuse descriptor, on which
// INIT has been answered with FUSE_OVER_IO_URING. The kernel uses the rings from
// now on; FORGET, INTERRUPT and what was asked before still come by reading the
// descriptor.
//
// When Start fails because the kernel refuses an entry, it has given the rings up
// for this connection: all requests come by the descriptor. The rings are closed
// then.
func (s *Rings) Start(device int) error { return s.begin(beginning{device: device}) }

func (s *Rings) begin(b beginning) error {
	for _, start := range s.start {
		start <- b
	}
	s.started = true
	if err := gather(s.registered, len(s.workers)); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// Wait returns when all workers have ended: with nil because the connection has,
// or because of Close, and otherwise with what went wrong: one that cannot go on ends
// all, and the connection with whatever is asked on it must be ended. A request that a
// handler still holds ([Later]) keeps it waiting.
func (s *Rings) Wait() error {
	s.running.Wait()
	var err error
	for _, w := range s.workers {
		err = errors.Join(err, w.failure)
		if e := w.bell.Close(); !errors.Is(e, os.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// Complete sends the answer of a request for which the handler said [Later]. Any
// goroutine may call it, once for each such request; the owning thread sends it.
func (s *Rings) Complete(r *Request) { r.home.complete(r) }

// Send sends what the worker has answered and kept back, to send it with what follows.
// A handler that is about to wait calls it, in the worker's thread: nobody should have
// to wait for the next request's sake.
func (s *Rings) Send(worker int) {
	w := s.workers[worker]
	w.flush()
	w.unsent = 0
}

// lost counts an entry which the kernel took back. The last one ends all workers.
func (s *Rings) lost(w *worker, errno unix.Errno) {
	switch errno {
	case unix.ENOTCONN, unix.ECONNABORTED, unix.ECANCELED, unix.ENODEV:
		// How a connection ends.
	default:
		w.failure = errors.Join(w.failure, fmt.Errorf("commit to ring %d: %w", w.index, errno))
	}
	if s.live.Add(-1) == 0 {
		s.halt()
	}
}

// halt makes all workers leave.
func (s *Rings) halt() {
	for _, w := range s.workers {
		w.stop.Store(true)
		w.wake()
	}
}

// Close ends the workers, as soon as no request is held, and waits for them. The
// kernel does not notice: it goes on to put requests into the queues, where nobody
// takes them, so that a connection must have ended, or be ended now. See the
// package comment for what a successor could do.
func (s *Rings) Close() error {
	s.halt()
	if !s.started {
		s.started = true
		for _, start := range s.start {
			close(start)
		}
	}
	return s.Wait()
}
