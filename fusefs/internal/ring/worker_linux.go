// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A worker is a thread with a ring of its own, and the entries registered there:
// the kernel hands a request over in the thread that submitted the entry, so
// nobody else can take it.
type worker struct {
	// Immutable after New.
	rings *Rings
	index int
	cpu   int
	// bell is an eventfd: who completes a request rings it. A file, because the
	// worker may have taken the request and gone before the ringing.
	bell   *os.File
	bellFD int

	completed atomic.Pointer[Request] // answered by others, newest first
	stop      atomic.Bool             // leave as soon as nobody else has a request

	// The thread's own.
	uring    *uring
	requests []Request
	rung     [8]byte // what is read from bell
	device   int
	live     int  // entries that the kernel knows
	later    int  // requests that others hold
	idle     bool // nothing came for a while
	failure  error
}

// bellData tells the completion of bell from those of entries, which carry their
// index.
const bellData = 1 << 32

// run is the thread's life. It tells opened when it has a ring, gets the device
// from start, and tells registered when the kernel has all its entries.
func (w *worker) run(opened chan<- error, start <-chan int, registered chan<- error) {
	// Never unlocked: a thread which is bound to one CPU must end with us.
	runtime.LockOSThread()
	defer w.rings.running.Done()
	err := w.open()
	opened <- err
	if err != nil {
		return
	}
	device, ok := <-start
	if !ok {
		w.failure = w.uring.close()
		return
	}
	w.device = device
	err = w.register()
	registered <- err
	if err == nil {
		w.serve()
	}
	w.failure = errors.Join(w.failure, w.uring.close())
}

func (w *worker) open() error {
	if w.rings.tuning.pin {
		var set unix.CPUSet
		set.Set(w.cpu)
		// A cpuset may keep us from there: the queue is served all the same.
		if err := unix.SchedSetaffinity(0, &set); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("bind worker %d to CPU %d: %w", w.index, w.cpu, err)
		}
	}
	u, err := newUring(len(w.requests)+1, w.rings.tuning.setup)
	if err != nil {
		return fmt.Errorf("open ring %d: %w", w.index, err)
	}
	w.uring = u
	return nil
}

// register gives the kernel all entries.
func (w *worker) register() error {
	for i := range w.requests {
		w.requests[i].prepareRegister(w.uring.sqe(i), w.device)
		w.uring.push(i)
	}
	for w.uring.pending > 0 {
		if errno := w.uring.enter(0, 0); errno != 0 && errno != unix.EINTR && errno != unix.EAGAIN {
			return fmt.Errorf("register entries of ring %d: %w", w.index, errno)
		}
	}
	w.live = len(w.requests)
	// An entry which the kernel took says nothing until a request comes; one that
	// it refused was answered at once.
	for i := w.uring.head; i != w.uring.cqTail.Load(); i++ {
		c := &w.uring.cqes[i&uint32(len(w.uring.cqes)-1)]
		if c.result < 0 {
			return fmt.Errorf("register entries of ring %d: %w", w.index, unix.Errno(-c.result))
		}
	}
	for i := range w.requests {
		w.requests[i].prepareCommit(w.uring.sqe(i), w.device)
	}
	w.listen()
	return nil
}

// listen waits for the bell, among the completions.
func (w *worker) listen() {
	n := len(w.requests)
	prepareRead(w.uring.sqe(n), w.bellFD, w.rung[:], bellData)
	w.uring.push(n)
}

// serve answers requests until the kernel has taken every entry back.
func (w *worker) serve() {
	for w.live > 0 {
		w.commitCompleted()
		if w.stop.Load() && w.later == 0 {
			return
		}
		w.handle()
		if w.live == 0 {
			return
		}
		if errno := w.enter(); errno != 0 && errno != unix.EINTR {
			if errno != unix.EAGAIN && errno != unix.EBUSY {
				w.failure = fmt.Errorf("enter ring %d: %w", w.index, errno)
				return
			}
			// Kernel memory is short: it has none for a submission.
			time.Sleep(time.Millisecond)
		}
	}
}

// enter submits what there is, and waits if nothing came meanwhile.
//
// The raw system call keeps the P: the Go runtime thinks that we run. That saves
// a request the way through the scheduler, and is allowed because the runtime
// interrupts whoever runs too long (10 ms) or is in the way when it stops the
// world, by a signal, and a signal ends the wait. An interrupted wait is taken as
// a sign that there is little to do: the next one gives the P away.
func (w *worker) enter() unix.Errno {
	if w.uring.ready() {
		return w.uring.enterRaw(0, 0)
	}
	if !w.rings.tuning.raw || w.idle {
		w.idle = false
		return w.uring.enter(1, enterGetEvents)
	}
	if spin := w.rings.tuning.spin; spin > 0 && w.spin(spin) {
		return 0
	}
	errno := w.uring.enterRaw(1, enterGetEvents)
	w.idle = !w.uring.ready()
	return errno
}

// spin submits, and looks for a while whether something comes.
func (w *worker) spin(limit time.Duration) bool {
	w.uring.enterRaw(0, enterGetEvents)
	for end := time.Now().Add(limit); ; {
		for range 64 {
			if w.uring.ready() {
				return true
			}
			if w.uring.work() {
				w.uring.enterRaw(0, enterGetEvents)
			}
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// handle takes completions until there are none, or until so much has been
// answered that it should be sent first.
func (w *worker) handle() {
	answered := 0
	for answered < w.rings.tuning.batch {
		data, result, ok := w.uring.pop()
		switch {
		case !ok:
			return
		case data == bellData:
			w.listen()
		case result < 0:
			w.lost(unix.Errno(-result))
		default:
			r := &w.requests[data]
			r.arrived()
			if w.rings.handle(w.index, r) == Later {
				w.later++
				continue
			}
			answered += max(len(r.In), r.answer, 1)
			w.commit(r)
		}
	}
}

// commit sends the answer, and lends the entry to the kernel again.
func (w *worker) commit(r *Request) {
	setCommitID(w.uring.sqe(r.index), r.seal())
	w.uring.push(r.index)
}

// commitCompleted commits what others have answered.
func (w *worker) commitCompleted() {
	for r := w.completed.Swap(nil); r != nil; {
		next := r.next
		r.next = nil
		w.later--
		w.commit(r)
		r = next
	}
}

// lost counts an entry which the kernel took back.
func (w *worker) lost(errno unix.Errno) {
	w.live--
	switch errno {
	case unix.ENOTCONN, unix.ECONNABORTED, unix.ECANCELED, unix.ENODEV:
		// How a connection ends.
	default:
		w.failure = errors.Join(w.failure, fmt.Errorf("commit to ring %d: %w", w.index, errno))
	}
}

// complete may be called in any goroutine.
func (w *worker) complete(r *Request) error {
	for {
		older := w.completed.Load()
		r.next = older
		// From here on r is the worker's.
		if !w.completed.CompareAndSwap(older, r) {
			continue
		}
		if older != nil {
			return nil // who put that there rings
		}
		return w.ring()
	}
}

// one is what an eventfd wants to be told.
var one = [8]byte{0: 1, 7: 1}

// ring wakes the worker, if it is still there.
func (w *worker) ring() error {
	if _, err := w.bell.Write(one[:]); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("wake worker %d: %w", w.index, err)
	}
	return nil
}
