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

// A worker is a thread with a ring of its own. The kernel hands a request to the thread that
// submitted the entry last: under little load the worker of the queue's CPU (its home), under more
// load the worker that answered the entry's last request.
type worker struct {
	// Immutable after New.
	rings *Rings
	index int
	cpu   int
	// bell is an eventfd: other goroutines write to it to wake the worker. It is an os.File because
	// the worker may have ended by then.
	bell   *os.File
	bellFD int

	completed atomic.Pointer[Request] // answered by other workers, newest first
	waiting   atomic.Bool             // in the kernel, or about to enter: needs the bell
	stop      atomic.Bool
	resting   atomic.Uint64 // the turn since which it takes nothing from a backlog
	backlog   backlog

	// The thread's own.
	uring   *uring
	rung    [8]byte // read from bell
	device  int
	crowded bool   // counted in rings.crowded
	turn    uint64 // rings.turns when last read
	unsent  int    // bytes pushed since the last submission
	failure error
}

// bellData identifies completions of bell; the others carry their entry's index.
const bellData = 1 << 32

// A beginning makes a worker start.
type beginning struct {
	device int
	adopt  bool // take a predecessor's entries over
}

// maxSubmissions is how many submissions a worker pushes at most before it enters the kernel.
const maxSubmissions = 64

// run is the worker's thread. It sends to opened when it has a ring, receives the device from
// start, and sends to registered when the kernel has all its entries.
func (w *worker) run(opened chan<- error, start <-chan beginning, registered chan<- error) {
	defer w.rings.running.Done()
	runtime.LockOSThread()
	free, err := w.bind()
	if err != nil {
		opened <- err
		return
	}
	defer free()
	err = w.open()
	opened <- err
	if err != nil {
		return
	}
	b, ok := <-start
	if !ok {
		w.failure = w.uring.close()
		return
	}
	w.device = b.device
	err = w.register(b.adopt)
	registered <- err
	if err == nil {
		w.serve()
	}
	if w.failure != nil {
		// Requests from this CPU would wait for ever, without a message.
		w.rings.halt()
	}
	w.failure = errors.Join(w.failure, w.uring.close())
}

// bind binds the thread to the worker's CPU. The kernel uses the queue of the CPU on which the
// requesting thread runs; a thread elsewhere would have to be woken across CPUs.
func (w *worker) bind() (free func(), err error) {
	if !w.rings.tuning.pin {
		return runtime.UnlockOSThread, nil
	}
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("ask for the CPUs of worker %d: %w", w.index, err)
	}
	// A cpuset may forbid the CPU: the queue is served all the same.
	if err := bindTo(w.cpu); err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("bind worker %d to CPU %d: %w", w.index, w.cpu, err)
	}
	return func() {
		// If the thread stays bound it must stay locked: the runtime ends it then.
		if err := unix.SchedSetaffinity(0, &before); err == nil {
			runtime.UnlockOSThread()
		}
	}, nil
}

// bindTo binds the calling thread to a CPU.
func bindTo(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(0, &set)
}

func (w *worker) open() error {
	u, err := newUring(maxSubmissions, len(w.rings.requests)+1, w.rings.tuning.setup)
	if err != nil {
		return fmt.Errorf("open ring %d: %w", w.index, err)
	}
	w.uring = u
	return nil
}

// register registers the entries of the worker's queues, except for those that the kernel has from
// a predecessor.
func (w *worker) register(adopt bool) error {
	for i := range w.rings.requests {
		switch r := &w.rings.requests[i]; {
		case r.home != w:
		case adopt && r.heldOver():
			r.arrived()
			w.backlog.put(r)
		default:
			r.prepareRegister(w.next(), w.device)
			w.uring.push()
		}
	}
	w.flush()
	// An accepted entry completes only when a request arrives; a refused one has completed already.
	for i := w.uring.head; i != w.uring.cqTail.Load(); i++ {
		c := &w.uring.cqes[i&uint32(len(w.uring.cqes)-1)]
		if c.result < 0 {
			return fmt.Errorf("register entries of ring %d: %w", w.index, unix.Errno(-c.result))
		}
	}
	w.listen()
	return w.failure
}

// next returns a submission to be filled in.
func (w *worker) next() []byte {
	if w.uring.full() {
		w.flush()
	}
	return w.uring.next()
}

// flush submits all pushed entries.
func (w *worker) flush() {
	for w.uring.pending > 0 && w.failure == nil {
		w.check(w.uring.submit())
	}
}

// check handles the result of io_uring_enter.
func (w *worker) check(errno unix.Errno) {
	switch errno {
	case 0, unix.EINTR:
	case unix.EAGAIN, unix.EBUSY:
		// The kernel has no memory for a submission.
		time.Sleep(time.Millisecond)
	default:
		w.failure = fmt.Errorf("enter ring %d: %w", w.index, errno)
	}
}

// listen submits a read of the bell.
func (w *worker) listen() {
	prepareRead(w.next(), w.bellFD, w.rung[:], bellData)
	w.uring.push()
}

// serve answers requests until the connection has ended.
func (w *worker) serve() {
	for !w.stop.Load() && w.failure == nil {
		w.commitCompleted()
		w.collect()
		if w.turn = w.rings.turns.Load(); w.turn%2 == 1 {
			w.drain()
			continue
		}
		r := w.backlog.take()
		if r == nil {
			w.crowd(false)
			r = w.steal()
		}
		if r == nil {
			w.wait()
			continue
		}
		w.answer(r)
	}
	// Others may have answered requests that Drain does not wait for: those of an offline CPU.
	w.commitCompleted()
	w.flush()
}

// collect moves completions to the backlog, and wakes another worker when it is long.
func (w *worker) collect() {
	if !w.uring.ready() {
		return
	}
	for {
		data, result, ok := w.uring.pop()
		switch {
		case !ok:
			w.callForHelp()
			return
		case data == bellData:
			w.listen()
		case result < 0:
			w.rings.lost(w, unix.Errno(-result))
		default:
			r := &w.rings.requests[data]
			r.arrived()
			w.backlog.put(r)
		}
	}
}

// callForHelp wakes an idle worker if the backlog is more than one worker should do.
func (w *worker) callForHelp() {
	if w.backlog.n.Load() < 2 || w.backlog.work.Load() < int64(w.rings.tuning.help) {
		return
	}
	w.crowd(true)
	all := w.rings.workers
	for i := 1; i < len(all); i++ {
		if all[(w.index+i)%len(all)].wake() {
			return
		}
	}
}

// crowd tells the other workers whether they should take from this backlog.
func (w *worker) crowd(yes bool) {
	switch {
	case yes && !w.crowded:
		w.rings.crowded.Add(1)
	case !yes && w.crowded:
		w.rings.crowded.Add(-1)
	}
	w.crowded = yes
}

// steal takes a request from another worker's backlog. It first checks a shared count that is
// seldom written.
func (w *worker) steal() *Request {
	if w.rings.crowded.Load() == 0 {
		return nil
	}
	all := w.rings.workers
	for i := 1; i < len(all); i++ {
		if r := all[(w.index+i)%len(all)].backlog.takeLast(); r != nil {
			return r
		}
	}
	return nil
}

// answer handles a request and commits the answer. A large answer it sends at once.
func (w *worker) answer(r *Request) {
	if r.isFiller() {
		r.Answer(0)
	} else {
		w.rings.handle(w.index, r)
	}
	if r.home != w && r.home.waiting.Load() && w.backlog.n.Load() == 0 {
		r.home.complete(r)
		return
	}
	w.commit(r)
	if w.unsent += max(len(r.In), r.answer); w.unsent >= w.rings.tuning.batch {
		w.flush()
		w.unsent = 0
	}
}

// wait submits, and waits for a completion.
func (w *worker) wait() {
	w.unsent = 0
	w.waiting.Store(true)
	// A waker sets its condition first and checks waiting then; here the order is reversed.
	if w.completed.Load() == nil && !w.stop.Load() && w.failure == nil && w.turn == w.rings.turns.Load() {
		w.check(w.uring.enter(1, enterGetEvents))
	}
	w.waiting.Store(false)
}

// commit pushes the answer, which lends the entry to the kernel again.
func (w *worker) commit(r *Request) {
	r.prepareCommit(w.next(), w.device)
	w.uring.push()
}

// commitCompleted commits the requests that others have answered.
func (w *worker) commitCompleted() {
	if w.completed.Load() == nil {
		return
	}
	for r := w.completed.Swap(nil); r != nil; {
		next := r.next
		r.next = nil
		w.commit(r)
		r = next
	}
}

// complete makes the worker commit a request, from any goroutine.
func (w *worker) complete(r *Request) {
	for {
		older := w.completed.Load()
		r.next = older
		if w.completed.CompareAndSwap(older, r) {
			break // r belongs to the worker now
		}
	}
	w.wake()
}

// one is the value written to an eventfd.
var one = [8]byte{0: 1, 7: 1}

// wake wakes a worker that waits, and reports whether it did.
func (w *worker) wake() bool {
	return w.waiting.CompareAndSwap(true, false) && w.ring()
}

// ring writes to the bell. That fails only if the worker has ended: an eventfd takes 2^64 writes.
func (w *worker) ring() bool {
	_, err := w.bell.Write(one[:])
	return err == nil
}
