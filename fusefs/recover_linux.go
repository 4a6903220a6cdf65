// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/killpoint"
	"github.com/zramfs/zramfs/internal/telemetry"
)

// recover takes over from a predecessor. If the predecessor had negotiated, go-fuse handles its
// INIT request again. recover finishes requests for the data file; those for attributes follow in
// start.
func (c *connection) recover() error {
	if init := c.requests.init(c.kind); init != nil {
		scratch := make([]byte, 4096)
		n, status := c.protocol.HandleRequest([][]byte{init}, [][]byte{scratch})
		if !status.Ok() {
			return fmt.Errorf("repeat the negotiation of the %v connection: %w", c.kind, syscall.Errno(status))
		}
		c.negotiated(scratch[:n])
	}
	if c.kind != dataConnection {
		c.fs.pressure.succeed()
		return nil
	}
	return c.finish()
}

// finish finishes the requests that a predecessor left in the slots, but for those that may take
// long or wait for others: the threads finish those, all at the same time.
func (c *connection) finish() error {
	for _, t := range c.threads {
		switch found := t.slot.inspect(); {
		case found == foundNothing:
		case found == foundDamage:
			t.dropDamaged()
		case !t.long():
			killpoint.At("request found")
			t.finish()
			killpoint.At("found request answered")
		case c.flags&capResend == 0:
			continue // its thread finishes it
		case c.attempted(t) > maxAttempts:
			t.fail()
		}
		t.free() // where that drops a request, the kernel sends it again
	}
	killpoint.At("requests finished")
	// Where a request is left once more, the successor asks: the kernel would send that one as
	// well, and it would be carried out twice.
	if c.flags&capResend != 0 && !slices.ContainsFunc(c.threads, func(t *thread) bool { return t.left }) {
		return c.askAgain()
	}
	return nil
}

// dropDamaged deals with a request that is not what the kernel has sent. The kernel sends it again
// where it can; else it is answered with EIO, by each number that may be the right one.
func (t *thread) dropDamaged() {
	number, sealed := t.slot.unique.Load(), t.slot.words[wordSealed].Load()
	if number != 0 { // else it was freed but for its seal, or its number was a single bit
		t.c.fs.logf("the memory of request %d is damaged: test the memory of the machine", number)
	}
	if t.c.flags&capResend == 0 {
		for _, unique := range []uint64{number, sealed} {
			if unique != 0 {
				answer := t.slot.answerBeside()
				putOutHeader(answer, unique, unix.EIO, 0)
				t.send(answer[:outHeaderSize])
			}
			if sealed == number {
				break
			}
		}
	}
	t.slot.words[wordAttempts].Store(0)
	t.slot.free()
}

// long reports whether the request in the slot may take long, or wait for others: an extra device,
// for example, is mounted on a directory that must be looked up.
func (t *thread) long() bool {
	m := message(t.slot.room())
	op, n := m.opcode(), t.c.fs.node(m.node())
	return t.c.kind == attributeConnection && (op == opRead || op == opWrite) && n != nil && n.attribute.long
}

// attempted counts that the request of a thread is sent again, and returns how often any of the
// connection's requests that take long was: the kernel sends it to whichever thread asks first.
func (c *connection) attempted(t *thread) (all uint64) {
	t.slot.words[wordAttempts].Add(1)
	for _, t := range c.threads {
		all += t.slot.words[wordAttempts].Load()
	}
	return all
}

// forgetAttempts is called when such a request is answered.
func (c *connection) forgetAttempts() {
	for _, t := range c.threads {
		t.slot.words[wordAttempts].Store(0)
	}
}

// finishLate completes the request in the slot that finish has left to this thread.
func (t *thread) finishLate() {
	if t.slot.unique.Load() != 0 && !t.left {
		t.finish()
		t.free()
	}
}

// maxAttempts is how often a request that was under way when a process died is carried out again:
// it may itself be the cause of the deaths. It is more than the deaths after which a keeper stops
// starting processes, so that killed processes cause no I/O error.
const maxAttempts = 10

// finish completes the request in the slot.
func (t *thread) finish() {
	m := message(t.slot.room())
	length := binary.LittleEndian.Uint32(m)
	t.page.pace.begin(time.Now())
	if result, ok := t.slot.applied(); ok {
		t.answerResult(m.unique(), result)
		t.page.stored = telemetry.Stored{Codec: telemetry.Nothing} // what it was is not known
		t.aboutFound(m, syscall.Errno(max(-result, 0)))
	} else if length < inHeaderSize || uint64(length) > uint64(len(m)) || // damaged memory
		t.slot.words[wordAttempts].Add(1) > maxAttempts {
		t.fail()
	} else {
		if t.slot.words[wordSealed].Load() == 0 {
			t.slot.seal(m[:length])
		}
		t.dispatch(m[:length])
	}
	if !t.left {
		t.slot.words[wordAttempts].Store(0) // for the next request in the slot
	}
	t.page.pace.end(time.Now())
	t.note()
}

// fail answers the request in the slot with an error.
func (t *thread) fail() {
	m := message(t.slot.room())
	t.c.fs.logf("a request (opcode %d, %d bytes) is answered with EIO: it was under way when more than %d processes died, or is damaged",
		m.opcode(), binary.LittleEndian.Uint32(m), maxAttempts)
	t.answerResult(m.unique(), -int64(unix.EIO))
	t.aboutFound(m, unix.EIO)
	if t.long() {
		t.c.forgetAttempts()
	}
}

// aboutFound does what about does for a request that another process has carried out, or none can.
func (t *thread) aboutFound(m message, errno syscall.Errno) {
	if t.c.kind == dataConnection && isPageRequest(m.opcode(), m.node()) {
		t.about(m.opcode(), m[inHeaderSize:], errno)
	}
}

// askAgain makes the kernel resend the requests that it has sent and that are in no slot.
func (c *connection) askAgain() error {
	var m [outHeaderSize]byte
	binary.LittleEndian.PutUint32(m[:], outHeaderSize)
	binary.LittleEndian.PutUint32(m[4:], codeResend)
	if _, err := unix.Write(c.device, m[:]); err != nil {
		return fmt.Errorf("ask for unanswered requests of the %v connection: %w", c.kind, err)
	}
	return nil
}

// forgetSize makes the kernel ask for the data file's attributes again: the device was made anew.
func (c *connection) forgetSize() {
	var m [outHeaderSize + invalidateSize]byte
	binary.LittleEndian.PutUint32(m[:], uint32(len(m)))
	binary.LittleEndian.PutUint32(m[4:], codeInvalidateInode)
	binary.LittleEndian.PutUint64(m[outHeaderSize:], dataNode)
	binary.LittleEndian.PutUint64(m[outHeaderSize+8:], math.MaxUint64) // an offset of -1: no contents
	_, err := unix.Write(c.device, m[:])
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTCONN) { // the kernel has none
		c.fs.logf("make the kernel forget the size: %v", err)
	}
}

// answerResult answers an applied request.
func (t *thread) answerResult(unique uint64, result int64) {
	m, answer := message(t.slot.room()), t.slot.answer()
	n := 0
	if result >= 0 && m.opcode() == opWrite {
		putWriteOut(answer[outHeaderSize:], int(result))
		n = writeOutSize
	}
	putOutHeader(answer, unique, syscall.Errno(max(-result, 0)), n)
	t.send(answer[:outHeaderSize+n])
}
