// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"golang.org/x/sys/unix"
)

// Memory that no program of this version can have left is refused, before
// anything is done.
func TestDamagedRequestsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		word  int
		value uint64
	}{
		"magic": {wordMagic, requestsMagic + 1}, "no magic": {wordMagic, 0},
		"version": {wordVersion, requestsVersion + 1}, "no version": {wordVersion, 0},
		"no attribute slots": {wordAttributeSlots, 0}, "no data slots": {wordDataSlots, 0},
		"more attribute slots than memory": {wordAttributeSlots, 2}, "more data slots than memory": {wordDataSlots, 3},
		"many slots": {wordDataSlots, maxSlots}, "slots without end": {wordDataSlots, math.MaxUint64},
		"slots that overflow": {wordAttributeSlots, 1 << 63}, "no transfer": {wordDataTransfer, 0},
		"large transfer": {wordDataTransfer, leftTransfer + pageSize}, "huge transfer": {wordDataTransfer, math.MaxUint64},
		"odd transfer": {wordDataTransfer, leftTransfer - 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeft(t)
			l.session.requests.word(c.word).Store(c.value)
			if _, err := l.session.files.MaxWaiting(); !errors.Is(err, errRequests) {
				t.Errorf("check: %v", err)
			}
			_, err := NewServer(l.session.files, Config{Store: l.store, Algorithm: l.algorithm()})
			if !errors.Is(err, errRequests) {
				t.Errorf("a server: %v", err)
			}
		})
	}
}

// The deaths that a damaged request saw do not count against the next one in its slot.
func TestDamagedRequestIsForgotten(t *testing.T) {
	l := newLeft(t)
	s := l.slot(0)
	l.put(s, writeRequest(10, 0, varied(pageSize, 1)))
	s.words[wordSum].Add(1)
	s.words[wordAttempts].Store(maxAttempts)
	l.wantAnswer(l.recoverAll(), 10, int(unix.EIO), nil)
	if n, found := s.words[wordAttempts].Load(), s.inspect(); n != 0 || found != foundNothing {
		t.Errorf("%d attempts and found %d are left", n, found)
	}
}

// As many slots as there are words for are no damage.
func TestMostSlots(t *testing.T) {
	s := &Session{}
	if err := s.makeRequests(requestsShape{attributes: 1, data: maxSlots - 1, transfer: leftTransfer}); err != nil {
		t.Fatal(err)
	}
	if slots, err := s.requests.slots(dataConnection); err != nil || len(slots) != maxSlots-1 {
		t.Errorf("%d slots, %v", len(slots), err)
	}
	if _, err := (requests{make([]byte, slotWordsAt)}).slots(dataConnection); !errors.Is(err, errRequests) {
		t.Errorf("too little memory: %v", err)
	}
	again := s.requests
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := again.unmap(); !errors.Is(err, unix.EINVAL) {
		t.Errorf("unmapped twice: %v", err)
	}
}

// Each bit of an answer that was noted is sealed.
func TestAnswersAreSealed(t *testing.T) {
	l := newLeft(t)
	s := l.slot(0)
	l.put(s, writeRequest(10, 0, varied(pageSize, 1)))
	for _, result := range []int64{0, pageSize, -int64(unix.EIO)} {
		s.apply(10, result)
		for bit := range 64 {
			s.words[wordResult].Store(uint64(result) ^ 1<<bit)
			if got := s.inspect(); got != foundDamage {
				t.Errorf("answer %d with bit %d flipped: found %d", result, bit, got)
			}
		}
		s.words[wordResult].Store(uint64(result))
		if got := s.inspect(); got != foundRequest {
			t.Errorf("answer %d: found %d", result, got)
		}
	}
}

// A file that is too short to hold anything.
func TestShortRequestsAreRefused(t *testing.T) {
	for _, size := range []int64{0, 1, slotWordsAt, buffersAt - 1, buffersAt} {
		l := newLeft(t)
		if err := unix.Ftruncate(int(l.session.files.Requests.Fd()), size); err != nil {
			t.Fatal(err)
		}
		if _, err := l.session.files.MaxWaiting(); err == nil {
			t.Errorf("%d bytes are taken for requests", size)
		}
	}
}

// A length that no request has is an error to the caller.
func TestLengthsThatLie(t *testing.T) {
	for _, length := range []uint32{0, 1, inHeaderSize - 1, leftTransfer + inHeaderSize + argumentSize + 1, math.MaxUint32} {
		l := newLeft(t)
		m := writeRequest(10, 0, varied(pageSize, 1))
		binary.LittleEndian.PutUint32(m, length)
		l.put(l.slot(0), m)
		l.wantAnswer(l.recoverAll(), 10, int(unix.EIO), nil)
		if !bytes.Equal(l.page(0), make([]byte, pageSize)) {
			t.Errorf("a request of %d bytes was carried out", length)
		}
	}
}

// A write says that it has more data than there are: it writes what there is, and
// answers how much.
func TestWriteWithLessDataThanItSays(t *testing.T) {
	l := newLeft(t)
	data := varied(pageSize, 1)
	m := writeRequest(10, 0, data)
	binary.LittleEndian.PutUint32(m[inHeaderSize+16:], math.MaxUint32)
	l.put(l.slot(0), m)
	l.wantAnswer(l.recoverAll(), 10, 0, count(len(data)))
	if !bytes.Equal(l.page(0), data) {
		t.Error("the page is not what was written")
	}
}

// A read asks for more than an answer holds: what there is room for is answered.
func TestReadOfMoreThanAnAnswerHolds(t *testing.T) {
	l := newLeft(t)
	l.put(l.slot(0), readRequest(10, 0, math.MaxUint32))
	l.wantAnswer(l.recoverAll(), 10, 0, make([]byte, leftTransfer))
}

// The first request of a connection is not whole, or none.
func TestDamagedInit(t *testing.T) {
	for name, m := range map[string]message{
		"short": initRequest(2)[:20], "another": readRequest(2, 0, pageSize), "header alone": initRequest(2)[:inHeaderSize],
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeft(t)
			l.session.requests.keepInit(dataConnection, m)
			s := l.successor()
			err := s.data.recover()
			select {
			case <-s.data.agreed:
				t.Error("they have agreed")
			default:
			}
			t.Log(err) // an error, or a wait for a first request that ends with one
		})
	}
}

// FuzzRequests puts anything into the memory of requests: a successor refuses it,
// or carries on, and the store stays sound.
func FuzzRequests(f *testing.F) {
	for _, m := range []message{
		writeRequest(10, 0, varied(100, 1)), readRequest(10, 4096, 4096), punchRequest(10, 0, 1<<20), initRequest(2),
		request(opOpen, 10, dataNode, make([]byte, 8)), request(1, 10, 1, []byte("zram0\x00")),
	} {
		f.Add(uint16(messageAt+buffersAt), []byte(m), uint16(0), []byte(nil))
		f.Add(uint16(initAt), []byte(m), uint16(wordInit*8), []byte{40, 0, 0, 0, 0, 0, 0, 0, 104})
	}
	f.Add(uint16(0), make([]byte, 100), uint16(slotWordsAt), varied(64, 2))
	f.Fuzz(func(t *testing.T, at uint16, what []byte, at2 uint16, what2 []byte) {
		l := newLeft(t)
		mem := l.session.requests.mem
		copy(mem[at:], what)
		copy(mem[at2:], what2)
		data := buffersAt + bufferOff + attributeTransfer // and the same as a request for the data file
		copy(mem[data+messageAt:], what)
		s, err := NewServer(l.session.files, Config{Store: l.store, Algorithm: l.algorithm()})
		if err != nil {
			return
		}
		defer s.Close()
		for _, c := range []*connection{s.attributes, s.data} {
			_ = c.recover() // an error is as good
		}
		s.OpenCount()
		s.requests.loops()
	})
}
