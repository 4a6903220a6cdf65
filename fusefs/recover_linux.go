// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/killpoint"
)

// carryOn takes over from a predecessor. If the predecessor had negotiated, go-fuse handles its
// INIT request again. carryOn finishes requests for the data file; those for attributes follow in
// start.
func (c *connection) carryOn() error {
	if init := c.requests.init(c.kind); init != nil {
		scratch := make([]byte, 4096)
		n, status := c.protocol.HandleRequest([][]byte{init}, [][]byte{scratch})
		if !status.Ok() {
			return fmt.Errorf("repeat the negotiation of the %v connection: %w", c.kind, syscall.Errno(status))
		}
		c.agree(scratch[:n])
	}
	if c.kind != dataConnection {
		return nil
	}
	return c.finish()
}

// finish finishes the requests that a predecessor left in the slots.
func (c *connection) finish() error {
	for _, t := range c.threads {
		if t.slot.unique.Load() != 0 {
			killpoint.At("request found")
			t.finish()
			killpoint.At("found request answered")
		}
		t.slot.free()
	}
	killpoint.At("requests finished")
	if c.flags&capResend != 0 {
		return c.askAgain()
	}
	return nil
}

// maxAttempts is how often a request that was under way when a process died is carried out again:
// it may itself be the cause of the deaths. It is more than the deaths after which a keeper stops
// starting processes, so that killed processes cause no I/O error.
const maxAttempts = 10

// finish completes the request in the slot.
func (t *thread) finish() {
	m := message(t.slot.room())
	length := binary.LittleEndian.Uint32(m)
	if result, ok := t.slot.applied(); ok {
		t.answerResult(m.unique(), result)
	} else if length < inHeaderSize || uint64(length) > uint64(len(m)) || // damaged memory
		t.slot.words[wordAttempts].Add(1) > maxAttempts {
		t.c.fs.logf("a request (opcode %d, %d bytes) is answered with EIO: it was under way when %d processes died, or is damaged",
			m.opcode(), length, t.slot.words[wordAttempts].Load())
		t.answerResult(m.unique(), -int64(unix.EIO))
	} else {
		t.carryOut(m[:length])
	}
	t.slot.words[wordAttempts].Store(0) // for the next request in the slot
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
