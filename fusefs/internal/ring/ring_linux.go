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

// Rings serve one connection. [New] makes them, [Rings.Start] begins, and [Rings.Wait] returns when
// the connection has ended.
type Rings struct {
	// Immutable after New.
	handle  func(worker int, r *Request)
	tuning  tuning
	memory  []byte // keeps it alive
	workers []*worker
	// requests are all entries. The slice is immutable, an element belongs to the worker that has
	// it.
	requests []Request
	start    []chan beginning

	live    atomic.Int64  // entries that the kernel has not taken back
	crowded atomic.Int32  // workers that others should help
	turns   atomic.Uint64 // how often draining began or ended: odd while draining
	filler  atomic.Uint64 // the number of the last filler request
	node    atomic.Uint64 // the file of filler requests
	// fillError is why a filler request could not be made.
	fillError atomic.Pointer[error]
	online    atomic.Pointer[CPUs] // when draining began

	opened, registered chan error
	started            bool // guarded by the caller: Start and Close do not run side by side
	running            sync.WaitGroup
}

// New makes a ring and a thread for each worker, and registers nothing yet. If it fails before INIT
// is answered, the answer can leave FUSE_OVER_IO_URING out.
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

// divide lays the entries out in the memory.
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

// gather receives n errors.
func gather(from <-chan error, n int) error {
	var err error
	for range n {
		err = errors.Join(err, <-from)
	}
	return err
}

// Start registers all entries for the connection of that /dev/fuse descriptor, on which INIT has
// been answered with FUSE_OVER_IO_URING. From now on the kernel uses the rings; FORGET, INTERRUPT
// and earlier requests still arrive by reading the descriptor.
//
// If the kernel refuses an entry, it stops using rings for this connection: all requests arrive by
// the descriptor. Start then closes the rings and fails.
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

// Wait returns when all workers have ended: with nil after the end of the connection or Close, and
// otherwise with the error of a worker. A worker that cannot continue ends all others; the caller
// must then end the connection, with its unanswered requests.
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

// Send sends answers that the worker has kept back to send them together. A handler calls it before
// it waits, in the worker's thread, so that their callers need not wait as well.
func (s *Rings) Send(worker int) {
	w := s.workers[worker]
	w.flush()
	w.unsent = 0
}

// lost counts an entry that the kernel took back. The last one ends all workers.
func (s *Rings) lost(w *worker, errno unix.Errno) {
	switch errno {
	case unix.ENOTCONN, unix.ECONNABORTED, unix.ECANCELED, unix.ENODEV:
		// The end of the connection.
	default:
		w.failure = errors.Join(w.failure, fmt.Errorf("commit to ring %d: %w", w.index, errno))
	}
	if s.live.Add(-1) == 0 {
		s.halt()
	}
}

// halt makes all workers end.
func (s *Rings) halt() {
	for _, w := range s.workers {
		w.stop.Store(true)
		w.wake()
	}
}

// Close ends the workers after their current requests and waits for them. The kernel does not
// notice: it continues to put requests into the queues, unanswered. So the connection must have
// ended, or be ended now. A successor can carry on only after [Rings.Drain].
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
