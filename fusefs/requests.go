// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// This file alone knows the bytes of the requests' memory: what a serving process
// leaves to its successor, beside the image. It holds no pointer.
//
//	0       words, the two INIT requests, the processors that have rings, and the
//	        text of control/loops
//	4 KiB   64 bytes of words a slot
//	8 KiB   the buffers: first those of the attribute slots, then the data slots'
//
// A slot holds one request. The kernel itself says when: it copies the request's
// header, which has its number (unique, never 0 and never used twice), into the
// buffer as part of read(2).
//
//	free      the number in the buffer is 0
//	read      it is not: the request is to be carried out
//	applied   the word applied has the same number: what the request changes is
//	          done, and the answer stands in the word result
//	free      after the answer was sent
//
// Whoever finds a slot as a killed process left it carries out a request that was
// read, and only answers one that was applied: its page may hold something newer.

const (
	requestsMagic   = 0x31_51_45_52_53_46_52_5a // "ZRFSREQ1"
	requestsVersion = 2

	slotWordsAt = 4096
	buffersAt   = 8192
	maxSlots    = (buffersAt - slotWordsAt) / 64

	initAt   = 256 // of the attribute connection's INIT request; the data connection's follows
	initSize = 256
	onlineAt = initAt + 2*initSize // a processorSet
	loopsAt  = 1024
	maxLoops = slotWordsAt - loopsAt

	// Within a buffer. A write's data begin on a page, and so does what a read
	// answers; the request before it stays whole until it is answered. What
	// answers a write or a punch stands at the beginning, before the request.
	messageAt = 4096 - inHeaderSize - argumentSize
	answerAt  = 8192 - outHeaderSize
	bufferOff = 8192 // bytes of a buffer beside the largest transfer
)

// Words at the beginning.
const (
	wordMagic = iota
	wordVersion
	wordAttributeSlots
	wordDataSlots
	wordDataTransfer // largest read or write of the data file, bytes
	wordInit         // length of the attribute connection's INIT request; the next word is the data connection's
	_
	wordLoops      // length of the text of control/loops
	wordConnection // number of the attribute connection; the next word is the data connection's
	_
	wordRingEntries // entries of a ring, 0 where there are no rings
	wordRingBytes   // memory of all rings
	wordRings       // ringsNever, ringsServe or ringsRest
)

// Words of a slot.
const (
	wordApplied = iota
	wordResult
	wordHandles
	wordAttempts
)

// attributeTransfer is the largest read of an attribute, in bytes.
const attributeTransfer = 64 << 10

// errRequests: the memory of requests is not as this program leaves it.
var errRequests = errors.New("the memory of requests is of another version, or damaged")

// requests is the memory. Words are atomic; bytes belong to whoever has the slot.
type requests struct {
	mem []byte // immutable slice header
}

// geometry of the requests' memory.
type requestsShape struct {
	attributes, data int // slots
	transfer         int // largest read or write of the data file, bytes
	entries, rings   int // of a ring, and bytes of all rings; 0 without
	// online are the processors that have rings of their own: those which ran when the
	// session was made. Every server lays the rings out for them, or it would look for
	// requests where its predecessor has none. Empty where that was not kept yet.
	online processorSet
}

// A processorSet has a bit for each processor, so far as there is room. It fills what
// lies before the text of control/loops.
type processorSet [(loopsAt - onlineAt) / 8]uint64

func processorSetOf(list []int) (s processorSet) {
	for _, n := range list {
		if n < len(s)*64 {
			s[n/64] |= 1 << (n % 64)
		}
	}
	return s
}

func (s processorSet) list() (all []int) {
	for n := range len(s) * 64 {
		if s[n/64]>>(n%64)&1 != 0 {
			all = append(all, n)
		}
	}
	return all
}

// size is that of the whole memory, in bytes.
func (s requestsShape) size() int { return s.ringsAt() + s.rings }

// ringsAt is where the memory of the rings begins, on a page.
func (s requestsShape) ringsAt() int {
	n := buffersAt + s.attributes*(bufferOff+attributeTransfer) + s.data*(bufferOff+s.transfer)
	return (n + pageSize - 1) &^ (pageSize - 1)
}

func (r requests) words(at, n int) []atomic.Uint64 {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&r.mem[at])), n)
}

func (r requests) word(n int) *atomic.Uint64 { return &r.words(0, n+1)[n] }

// format lays out empty memory.
func (r requests) format(s requestsShape) {
	r.word(wordVersion).Store(requestsVersion)
	r.word(wordAttributeSlots).Store(uint64(s.attributes))
	r.word(wordDataSlots).Store(uint64(s.data))
	r.word(wordDataTransfer).Store(uint64(s.transfer))
	r.word(wordRingEntries).Store(uint64(s.entries))
	r.word(wordRingBytes).Store(uint64(s.rings))
	for i, bits := range s.online {
		r.words(onlineAt, len(s.online))[i].Store(bits)
	}
	r.word(wordMagic).Store(requestsMagic)
}

// shape reads what format has written.
func (r requests) shape() (requestsShape, error) {
	if len(r.mem) < buffersAt || r.word(wordMagic).Load() != requestsMagic {
		return requestsShape{}, errRequests
	}
	if v := r.word(wordVersion).Load(); v != requestsVersion {
		return requestsShape{}, fmt.Errorf("%w: version %d, this program has %d", errRequests, v, requestsVersion)
	}
	attributes, data, transfer := r.word(wordAttributeSlots).Load(), r.word(wordDataSlots).Load(), r.word(wordDataTransfer).Load()
	entries, rings := r.word(wordRingEntries).Load(), r.word(wordRingBytes).Load()
	s := requestsShape{attributes: int(attributes), data: int(data), transfer: int(transfer), entries: int(entries), rings: int(rings)}
	for i := range s.online {
		s.online[i] = r.words(onlineAt, len(s.online))[i].Load()
	}
	if attributes == 0 || data == 0 || attributes > maxSlots || data > maxSlots || attributes+data > maxSlots ||
		transfer == 0 || transfer > mostWrite || transfer%pageSize != 0 || entries > 1<<16 || rings > 1<<40 || rings%pageSize != 0 || s.size() > len(r.mem) {
		return requestsShape{}, errRequests
	}
	return s, nil
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

// A slot is the place of one request. It belongs to one thread.
type slot struct {
	words  []atomic.Uint64 // immutable view
	unique *atomic.Uint64  // the request's number, in the buffer; 0 is no request
	buffer []byte          // immutable view
}

// room is where the kernel puts a request: the largest write fits.
func (s *slot) room() []byte { return s.buffer[messageAt : len(s.buffer)-bufferOff+4096] }

// answer is where an answer is put together, header first.
func (s *slot) answer() []byte { return s.buffer[answerAt:] }

// answerBeside is a place for a short answer that leaves the data of a write whole.
func (s *slot) answerBeside() []byte { return s.buffer[:messageAt] }

// apply notes that the request has done what it does, and what the answer is: a
// count of bytes, or an error number below 0.
func (s *slot) apply(unique uint64, result int64) {
	s.words[wordResult].Store(uint64(result))
	s.words[wordApplied].Store(unique)
}

// applied reports whether the request in the slot was applied, and the answer.
func (s *slot) applied() (result int64, ok bool) {
	return int64(s.words[wordResult].Load()), s.words[wordApplied].Load() == s.unique.Load()
}

func (s *slot) free() { s.unique.Store(0) }

// countHandle counts an opened (+1) or closed (-1) data file, once for each
// request, however often it is carried out: the count (low half) and the number of
// the request that changed it last are one word.
func (s *slot) countHandle(unique uint64, n int32) {
	tag := uint32(unique >> 1)          // the lowest bit is the kernel's
	for w := &s.words[wordHandles]; ; { // the workers of rings share the slots
		old := w.Load()
		if old != 0 && uint32(old>>32) == tag ||
			w.CompareAndSwap(old, uint64(tag)<<32|uint64(uint32(int32(uint32(old))+n))) {
			return
		}
	}
}

// handles is how many handles on the data file are open.
func (r requests) handles() int {
	shape, err := r.shape()
	if err != nil {
		return 0
	}
	n := int32(0)
	for i := range shape.attributes + shape.data {
		n += int32(uint32(r.words(slotWordsAt+i*64, 8)[wordHandles].Load()))
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

// loops is the text of control/loops.
func (r requests) loops() []byte {
	n := min(r.word(wordLoops).Load(), maxLoops)
	return append([]byte(nil), r.mem[loopsAt:loopsAt+n]...)
}

func (r requests) setLoops(text []byte) bool {
	if len(text) > maxLoops {
		return false
	}
	r.word(wordLoops).Store(0) // who is killed here leaves none
	copy(r.mem[loopsAt:], text)
	r.word(wordLoops).Store(uint64(len(text)))
	return true
}
