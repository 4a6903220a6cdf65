// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/killpoint"
	"github.com/zramfs/zramfs/internal/telemetry"
)

// A thread takes one request after the other from a connection into its slot and carries it out. On
// the page path it allocates nothing.
type thread struct {
	c    *connection  // immutable
	slot *slot        // immutable
	tid  atomic.Int32 // the operating system's, once it runs
	turn bool         // has a turn; see connection.turns
	left bool         // leaves the request in its slot to a successor, and ends
	page pageThread
	// account counts what the thread has done; nil for attributes. Immutable.
	account *telemetry.Slot
	done    telemetry.Request // the present request; to be counted where its flag is set
	counts  bool
	stalled time.Time // since when the present request waits for memory; zero where it did not
	in      [1][]byte // go-fuse's arguments
	out     [1][]byte
}

// serve takes requests until the connection ends or the server stops.
func (t *thread) serve() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t.tid.Store(int32(unix.Gettid()))
	time.Sleep(time.Nanosecond) // makes the goroutine's timer, for waits on the page path
	defer t.giveTurn()
	for idle := true; !t.left && t.takeTurn(); {
		t.slot.free()
		n, errno := receive(t.c.device, t.slot.room(), idle)
		idle = errno != 0 || t.c.kind != dataConnection
		switch {
		case errno == 0 && n >= inHeaderSize:
			t.slot.seal(message(t.slot.room()[:n]))
			killpoint.At("request read")
			t.page.pace.begin(time.Now())
			t.c.busy.Add(1)
			t.dispatch(message(t.slot.room()[:n]))
			t.c.busy.Add(-1)
			t.page.pace.end(time.Now())
			t.note()
			killpoint.At("request answered")
		case errno == unix.ENODEV, errno == unix.ECONNABORTED, errno == unix.EPERM, errno == unix.EBADF:
			if t.c.kind == dataConnection {
				t.c.fs.store.Stall(false) // nothing waits for the writes that do
			}
			return
		case errno != 0 && errno != unix.EINTR && errno != unix.ENOENT: // it has never been seen
			time.Sleep(sendPause)
		}
		// Else a signal interrupted the read (EINTR), or the request was withdrawn (ENOENT).
	}
	t.free()
}

// free empties the slot, unless its request is left to a successor.
func (t *thread) free() {
	if !t.left {
		t.slot.free()
	}
}

// loneGap is the least time that a thread waits for a request which was not there before it asked.
const loneGap = 2 * time.Microsecond

// takeTurn waits for a turn, if the thread has none, and reports whether the server still serves.
func (t *thread) takeTurn() bool {
	if !t.turn {
		<-t.c.turns
		t.turn = true
	}
	return !t.c.stopping.Load()
}

// giveTurn gives the turn to another thread, because this one is about to wait or ends.
func (t *thread) giveTurn() {
	if t.turn {
		t.turn = false
		t.c.turns <- struct{}{} // never blocks: there is room for every turn
	}
}

// stall is called when the present request begins to wait, for memory or for the backing device.
func (t *thread) stall(forMemory bool) {
	if forMemory {
		t.stalled = time.Now()
	}
	t.giveTurn()
}

// note counts the request that was answered.
func (t *thread) note() {
	if !t.counts {
		return
	}
	t.counts = false
	t.done.Began, t.done.Took = t.page.pace.began, t.page.pace.took()
	t.account.Note(&t.done)
	if t.done.Errno != 0 && t.c.failed != nil {
		t.c.failed(t.done.Op, t.done.Page, t.done.Errno)
	}
}

// about takes down what the present page request is about, for note.
func (t *thread) about(op uint32, argument []byte, errno syscall.Errno) {
	if t.account == nil {
		return
	}
	kind, off, n := telemetry.Discard, uint64(0), uint64(0)
	switch op {
	case opRead:
		kind = telemetry.Read
	case opWrite:
		kind = telemetry.Write
	}
	if kind == telemetry.Discard {
		off, n, _ = rangeOf(argument)
	} else {
		offset, size := transfer(argument)
		off, n = offset, uint64(size)
	}
	n = clip(off, n, t.c.fs.size)
	pages := 0
	if n > 0 {
		pages = int((off+n-1)/pageSize - off/pageSize + 1)
	}
	stalled := time.Duration(0)
	if !t.stalled.IsZero() {
		stalled = max(time.Since(t.stalled), 1)
		t.stalled = time.Time{}
	}
	t.done = telemetry.Request{Op: kind, Page: off / pageSize, Pages: pages, Bytes: n, Errno: errno, Stall: stalled, Stored: t.page.stored}
	t.counts = true
}

// dispatch carries a request out and answers it.
func (t *thread) dispatch(m message) {
	op := m.opcode()
	if t.c.kind == dataConnection && isPageRequest(op, m.node()) && len(m) >= inHeaderSize+fallocateSize {
		t.dispatchPage(op, m)
	} else {
		t.dispatchOther(op, m)
	}
}

// dispatchPage is the page path. A read can be repeated; the effect of other requests is noted
// before they are answered.
func (t *thread) dispatchPage(op uint32, m message) {
	if t.c.lone != nil && t.page.pace.gap >= loneGap && t.c.busy.Load() == 1 {
		t.c.lone(t.page.pace.began)
	}
	argument := m[inHeaderSize:]
	var data []byte
	if op == opWrite {
		data = m[min(inHeaderSize+argumentSize, len(m)):]
	}
	unique, answer := m.unique(), t.slot.answer()
	if op != opRead { // a successor needs all of it until it is applied
		answer = t.slot.answerBeside()
	}
	n, errno := t.c.fs.servePage(&t.page, op, argument, data, answer[outHeaderSize:])
	killpoint.At("request carried out")
	if op != opRead {
		t.slot.apply(unique, resultOf(answer[outHeaderSize:], n, errno))
	}
	killpoint.At("request applied")
	putOutHeader(answer, unique, errno, n)
	t.send(answer[:outHeaderSize+n])
	t.about(op, argument, errno)
}

// resultOf is what a successor needs for the same answer: the count of a write, 0, or the negative
// error number.
func resultOf(answer []byte, n int, errno syscall.Errno) int64 {
	switch {
	case errno != 0:
		return -int64(errno)
	case n == writeOutSize:
		return int64(binary.LittleEndian.Uint32(answer))
	}
	return 0
}

// dispatchOther passes a request to go-fuse.
func (t *thread) dispatchOther(op uint32, m message) {
	unique, answer := m.unique(), t.slot.answer()
	if op == opWrite { // a successor needs all of it until it is applied
		answer = t.slot.answerBeside()
	}
	if op == opInterrupt { // no request takes long: the kernel stops asking
		putOutHeader(answer, unique, unix.ENOSYS, 0)
		t.send(answer[:outHeaderSize])
		return
	}
	if op == opPoll {
		t.answerPoll(m)
		return
	}
	if op == opInit {
		t.c.requests.keepInit(t.c.kind, m)
	}
	t.c.initiated.Load() // synchronizes with the thread that handled INIT
	t.in[0], t.out[0] = m, answer
	n, status := t.c.protocol.HandleRequest(t.in[:], t.out[:])
	if !status.Ok() {
		putOutHeader(answer, unique, syscall.Errno(status), 0)
		n = outHeaderSize
	}
	killpoint.At("other request carried out")
	if _, t.left = t.c.fs.left.Load(unique); t.left {
		return
	}
	if n >= outHeaderSize && errnoOf(answer) == 0 {
		t.c.count(t.slot, op, m)
	}
	killpoint.At("other request counted")
	if op == opWrite { // to an attribute: carried out again, it would undo what came after its answer
		t.slot.apply(unique, resultOf(answer[outHeaderSize:], n-outHeaderSize, errnoOf(answer)))
	}
	if op == opInit {
		t.c.initiated.Store(true) // before the answer: the kernel sends no other request until then
	}
	if op == opFsync && t.account != nil {
		t.done, t.counts = telemetry.Request{Op: telemetry.Flush, Errno: errnoOf(answer), Stored: telemetry.Stored{Codec: telemetry.Nothing}}, true
	}
	if n > 0 { // FORGET, for example, has no answer
		t.send(answer[:n])
	}
	if t.long() {
		t.c.forgetAttempts()
	}
	if op == opInit {
		t.c.negotiated(answer[:n])
	}
}
