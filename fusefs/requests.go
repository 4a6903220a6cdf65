// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Only this file knows the layout of the requests' memory: what a serving process leaves to its
// successor in addition to the image. It holds no pointer.
//
//	0       words, the two INIT requests, the text of control/loops, and what was chosen
//	4 KiB   64 bytes of words a slot
//	8 KiB   the buffers: first those of the attribute slots, then the data slots'
//	...     the counters, in memory that package telemetry lays out
//
// A slot holds one request. The kernel sets its state: read(2) copies the request's header, with
// its number (unique, never 0 and never used twice), into the buffer.
//
//	free      the number in the buffer is 0
//	read      it is not 0: the request is to be carried out
//	applied   the word applied has the same number: the request's changes are
//	          done, and its answer is in the word result
//	free      after the answer was sent
//
// The successor of a killed process carries out a request that was read. An applied one it only
// answers: the page may hold something newer. sealed.go has what proves both.

const (
	requestsMagic   = 0x31_51_45_52_53_46_52_5a // "ZRFSREQ1"
	requestsVersion = 3

	slotWordsAt = 4096
	buffersAt   = 8192
	maxSlots    = (buffersAt - slotWordsAt) / 64

	initAt   = 256 // of the attribute connection's INIT request; the data connection's follows
	initSize = 256
	loopsAt  = 1024
	maxLoops = chosenAt - loopsAt

	// The texts of Chosen, see keepChosen. The word for them has the length in its low half.
	chosenAt     = 3072
	chosenSize   = (slotWordsAt - chosenAt) / 2
	chosenShift  = 32
	chosenLength = 1<<chosenShift - 1

	// Within a buffer. A write's data begin on a page, and so does the answer to a read; the
	// request before it stays whole until it is answered. The answer to a write or a punch is at
	// the beginning, before the request.
	messageAt = 4096 - inHeaderSize - argumentSize
	answerAt  = 8192 - outHeaderSize
	bufferOff = 8192 // bytes of a buffer in addition to the largest transfer
)

// Words at the beginning.
const (
	wordMagic = iota
	wordVersion
	wordAttributeSlots
	wordDataSlots
	wordDataTransfer // largest read or write of the data file, bytes
	wordInit         // length of the attribute connection's INIT request; then the data connection's
	_
	wordLoops      // length of the text of control/loops
	wordConnection // number of the attribute connection; then the data connection's
	_
	wordTelemetry // offset of the telemetry.Area behind the buffers
	wordChosen
	wordImage  // Config.Image of the last server that has begun to answer
	wordPolled // the first of maxPolled words: see pressure
)

// maxPolled is how many files of a program that dies its successor notifies.
const maxPolled = initAt/8 - wordPolled

// polledWords are the numbers of files to be notified; 0 is a free word.
type polledWords []atomic.Uint64

// Words of a slot.
const (
	wordApplied = iota
	wordResult
	wordHandles
	wordAttempts
	wordSealed     // see slot.seal
	wordSum        // as it
	wordAppliedSum // see slot.apply
	wordTwin       // as wordHandles, written before it
)

// attributeTransfer is the largest read of an attribute, in bytes.
const attributeTransfer = 64 << 10

// errRequests: the memory of requests does not have this program's layout.
var errRequests = errors.New("the memory of requests is of another version, or damaged")

// requests is the memory. Words are atomic; the bytes of a slot belong to its thread.
type requests struct {
	mem []byte // immutable slice header
}

// requestsShape is the geometry of the requests' memory.
type requestsShape struct {
	attributes, data int // slots
	transfer         int // largest read or write of the data file, bytes
}

// size returns the size of the whole memory, in bytes.
func (s requestsShape) size() int {
	return buffersAt + s.attributes*(bufferOff+attributeTransfer) + s.data*(bufferOff+s.transfer)
}

func (r requests) words(at, n int) []atomic.Uint64 {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&r.mem[at])), n)
}

func (r requests) word(n int) *atomic.Uint64 { return &r.words(0, n+1)[n] }

// polled returns the words of files to be notified.
func (r requests) polled() polledWords { return polledWords(r.words(wordPolled*8, maxPolled)) }

// format lays out empty memory.
func (r requests) format(s requestsShape) {
	r.word(wordVersion).Store(requestsVersion)
	r.word(wordAttributeSlots).Store(uint64(s.attributes))
	r.word(wordDataSlots).Store(uint64(s.data))
	r.word(wordDataTransfer).Store(uint64(s.transfer))
	r.word(wordTelemetry).Store(uint64(s.size()))
	r.word(wordMagic).Store(requestsMagic)
}

// shape returns the geometry that format has written, and checks it.
func (r requests) shape() (requestsShape, error) {
	if len(r.mem) < buffersAt || r.word(wordMagic).Load() != requestsMagic {
		return requestsShape{}, errRequests
	}
	if v := r.word(wordVersion).Load(); v != requestsVersion {
		return requestsShape{}, fmt.Errorf("%w: version %d, this program has %d", errRequests, v, requestsVersion)
	}
	attributes, data, transfer := r.word(wordAttributeSlots).Load(), r.word(wordDataSlots).Load(), r.word(wordDataTransfer).Load()
	s := requestsShape{attributes: int(attributes), data: int(data), transfer: int(transfer)}
	room := min(uint64(len(r.mem)), r.word(wordTelemetry).Load())
	if attributes == 0 || data == 0 || attributes > maxSlots || data > maxSlots || attributes+data > maxSlots ||
		transfer == 0 || transfer > wantWrite || transfer%pageSize != 0 || uint64(s.size()) > room {
		return requestsShape{}, errRequests
	}
	return s, nil
}

// fixed returns the parts of the memory that never change once both connections are negotiated.
func (r requests) fixed() [][]byte {
	return [][]byte{
		r.mem[:wordLoops*8], r.mem[wordConnection*8 : wordChosen*8],
		r.mem[initAt : initAt+2*initSize],
	}
}

// slots returns the slots of one connection.
func (r requests) slots(c connectionKind) ([]*slot, error) {
	shape, err := r.shape()
	if err != nil {
		return nil, err
	}
	first, n, at, transfer := 0, shape.attributes, buffersAt, attributeTransfer
	if c == dataConnection {
		first, n, at = shape.attributes, shape.data, buffersAt+shape.attributes*(bufferOff+attributeTransfer)
		transfer = shape.transfer
	}
	all := make([]*slot, n)
	for i := range all {
		from := at + i*(bufferOff+transfer)
		all[i] = &slot{
			words:  r.words(slotWordsAt+(first+i)*64, 8),
			unique: &r.words(from+messageAt+uniqueOffset, 1)[0],
			buffer: r.mem[from : from+bufferOff+transfer : from+bufferOff+transfer],
		}
	}
	return all, nil
}

// A slot holds one request. It belongs to one thread.
type slot struct {
	words  []atomic.Uint64 // immutable view
	unique *atomic.Uint64  // the request's number, in the buffer; 0 if the slot is free
	buffer []byte          // immutable view
}

// room returns the space for a request: the largest write fits.
func (s *slot) room() []byte { return s.buffer[messageAt : len(s.buffer)-bufferOff+4096] }

// answer returns the space for an answer, which begins with its header.
func (s *slot) answer() []byte { return s.buffer[answerAt:] }

// answerBeside returns the space for a short answer that leaves the data of a write whole.
func (s *slot) answerBeside() []byte { return s.buffer[:messageAt] }

// countHandle counts an opened (+1) or closed (-1) data file once for each request, however often
// it is carried out: the count (low half) and the number of the last request that changed it are
// one word.
func (s *slot) countHandle(unique uint64, n int32) {
	tag := uint32(unique >> 1) // the lowest bit is the kernel's
	w := &s.words[wordHandles]
	if old := w.Load(); old == 0 || uint32(old>>32) != tag {
		now := uint64(tag)<<32 | uint64(uint32(handlesOf(s.words)+n))
		s.words[wordTwin].Store(now)
		w.Store(now)
	}
}

// handlesOf is the count of a slot. Where the twin is of the same request and has another count,
// one of them is damaged, and the larger one counts: a device in use is never taken for unused. A
// twin of another request is that of a process which died between the two.
func handlesOf(slot []atomic.Uint64) int32 {
	word, twin := slot[wordHandles].Load(), slot[wordTwin].Load()
	n := int32(uint32(word))
	if word>>32 == twin>>32 {
		n = max(n, int32(uint32(twin)))
	}
	return n
}

// handles returns how many handles on the data file are open, by the words of all slots.
func (r requests) handles(slots int) int {
	if r.mem == nil {
		return 0
	}
	n := int32(0)
	for i := range slots {
		n += handlesOf(r.words(slotWordsAt+i*64, 8))
	}
	return int(n)
}

// keepInit keeps a connection's INIT request for successors.
func (r requests) keepInit(c connectionKind, m message) {
	if len(m) > initSize {
		m = m[:initSize]
	}
	copy(r.mem[initAt+int(c)*initSize:], m)
	r.word(wordInit + int(c)).Store(uint64(len(m)))
}

// init returns the INIT request that a predecessor has answered, or nil.
func (r requests) init(c connectionKind) message {
	n := min(r.word(wordInit+int(c)).Load(), initSize)
	if n == 0 {
		return nil
	}
	at := initAt + int(c)*initSize
	return message(r.mem[at : at+int(n)])
}

// loops returns the text of control/loops.
func (r requests) loops() []byte {
	n := min(r.word(wordLoops).Load(), maxLoops)
	return append([]byte(nil), r.mem[loopsAt:loopsAt+n]...)
}

func (r requests) setLoops(text []byte) bool {
	if len(text) > maxLoops {
		return false
	}
	r.word(wordLoops).Store(0) // a process killed here leaves no text
	copy(r.mem[loopsAt:], text)
	r.word(wordLoops).Store(uint64(len(text)))
	return true
}
