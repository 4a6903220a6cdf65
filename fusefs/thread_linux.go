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
)

// A thread takes one request after the other from a connection, each in its own
// slot, and sees it through. Nothing it does on the page path allocates.
type thread struct {
	c    *connection  // immutable
	slot *slot        // immutable
	tid  atomic.Int32 // of the operating system, once it runs
	turn bool         // it has a turn; see connection.turns
	page pageThread
	// beside is for how many requests still it counts that one was carried out while
	// another was.
	beside int
	in     [1][]byte // what go-fuse is handed
	out    [1][]byte
}

// serve takes requests until the connection ends or the server stops.
func (t *thread) serve() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t.tid.Store(int32(unix.Gettid()))
	defer t.giveTurn()
	for idle := true; t.takeTurn(); {
		t.slot.free()
		if !idle {
			t.look()
		}
		n, errno := receive(t.c.device, t.slot.room(), idle)
		idle = errno != 0 || t.c.kind != dataConnection
		switch {
		case errno == 0 && n >= inHeaderSize:
			killpoint.At("request read")
			t.page.pace.begin(time.Now())
			t.note(t.c.busy.Add(1))
			t.carryOut(message(t.slot.room()[:n]))
			t.c.busy.Add(-1)
			t.page.pace.end(time.Now())
			killpoint.At("request answered")
		case errno == unix.ENODEV, errno == unix.ECONNABORTED, errno == unix.EPERM, errno == unix.EBADF:
			return
		}
		// Else a signal (EINTR), or the request went while it was handed out (ENOENT).
	}
	t.slot.free()
}

// besideLimit: after so many requests that were alone the next one is expected to be.
const besideLimit = 16

// note notes how many threads are at work.
func (t *thread) note(busy int32) {
	if busy > 1 {
		t.beside = besideLimit
	} else if t.beside > 0 {
		t.beside--
	}
}

// takeTurn waits for a turn, if the thread has none, and reports whether there is
// still something to be served.
func (t *thread) takeTurn() bool {
	if !t.turn {
		<-t.c.turns
		t.turn = true
	}
	return !t.c.stopping.Load()
}

// giveTurn lets another thread have the turn: this one waits for memory, or ends.
func (t *thread) giveTurn() {
	if t.turn {
		t.turn = false
		t.c.turns <- struct{}{} // there is room for all of them
	}
}

// carryOut does what a message asks for and answers it.
func (t *thread) carryOut(m message) {
	op := m.opcode()
	if t.c.kind == dataConnection && isPageRequest(op, m.node()) && len(m) >= inHeaderSize+fallocateSize {
		t.carryOutPage(op, m)
	} else {
		t.carryOutOther(op, m)
	}
}

// carryOutPage is the page path. What a read does can be done again; what the
// others do is noted before it is answered.
func (t *thread) carryOutPage(op uint32, m message) {
	argument := m[inHeaderSize:]
	var data []byte
	if op == opWrite {
		data = m[min(inHeaderSize+argumentSize, len(m)):]
	}
	unique, answer := m.unique(), t.slot.answer()
	if op != opRead { // until it is applied all of it may be needed again
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
}

// resultOf is what a successor needs to answer the same: the count of a write, 0,
// or the error number.
func resultOf(answer []byte, n int, errno syscall.Errno) int64 {
	switch {
	case errno != 0:
		return -int64(errno)
	case n == writeOutSize:
		return int64(binary.LittleEndian.Uint32(answer))
	}
	return 0
}

// carryOutOther leaves a request to go-fuse.
func (t *thread) carryOutOther(op uint32, m message) {
	unique, answer := m.unique(), t.slot.answer()
	if op == opInterrupt { // nothing here takes long: the kernel need not ask again
		putOutHeader(answer, unique, unix.ENOSYS, 0)
		t.send(answer[:outHeaderSize])
		return
	}
	if op == opInit {
		t.c.requests.keepInit(t.c.kind, m)
	}
	t.c.initiated.Load() // what go-fuse remembers of INIT was written by another thread
	t.in[0], t.out[0] = m, answer
	n, status := t.c.protocol.HandleRequest(t.in[:], t.out[:])
	if !status.Ok() {
		putOutHeader(answer, unique, syscall.Errno(status), 0)
		n = outHeaderSize
	}
	killpoint.At("other request carried out")
	if n >= outHeaderSize && errnoOf(answer) == 0 {
		t.c.count(t.slot, op, m)
	}
	killpoint.At("other request counted")
	if op == opInit {
		t.c.initiated.Store(true) // before the kernel, which asks nothing else until it has the answer
	}
	if n > 0 { // what is only told has no answer
		t.send(answer[:n])
	}
	if op == opInit {
		t.c.agree(answer[:n])
	}
}
