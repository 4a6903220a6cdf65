// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"encoding/binary"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

func TestCarryOnWithFreeSlots(t *testing.T) {
	l := newLeft(t)
	if got := l.recoverAll(); len(got) != 0 {
		t.Errorf("nothing was left, and answered %+v", got)
	}
}

// A process died with a write that it had read, or had carried out without noting
// that: the successor carries it out.
func TestCarryOnWithWriteRead(t *testing.T) {
	for name, already := range map[string]bool{"before it was carried out": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			l := newLeft(t)
			data := varied(2*pageSize, 1)
			l.write(5, filled(pageSize, 'o'))
			if already {
				l.write(5, data[:pageSize])
			}
			l.put(l.slot(1), writeRequest(10, 5*pageSize, data))
			l.wantAnswer(l.recoverAll(), 10, 0, count(len(data)))
			if !bytes.Equal(append(l.page(5), l.page(6)...), data) {
				t.Error("the pages are not those that were written")
			}
			if got := l.recoverAll(); len(got) != 0 {
				t.Errorf("answered once more: %+v", got)
			}
		})
	}
}

// A process died before it sealed what it had received: the successor carries it out, unless its
// number is a flipped bit of a free slot.
func TestCarryOnWithoutSeal(t *testing.T) {
	data := varied(pageSize, 1)
	serve := func(s *slot, m message) { // as a thread that has answered the request
		copy(s.room(), m)
		s.seal(m)
		s.apply(m.unique(), pageSize)
		s.free()
	}
	none := func(*slot, message) {}
	receive := func(s *slot, m message) { copy(s.room(), m) }
	const single = 1 << 40 // a number with one bit
	for _, c := range []struct {
		name   string
		number uint64
		before func(*slot, message)
		leave  func(*slot, message)
		errno  syscall.Errno
	}{
		{"first request", 10, none, receive, 0},
		{"first request, of a number with one bit", single, none, receive, 0},
		{"later request, of a number with one bit", single, func(s *slot, m message) { serve(s, writeRequest(10, 5*pageSize, data)) }, receive, 0},
		{"the same but for its number", single, func(s *slot, m message) { serve(s, writeRequest(10, 0, data)) }, receive, 0},
		{"a checksum without a number", single, none, func(s *slot, m message) {
			copy(s.room(), m)
			s.seal(m)
			s.words[wordSealed].Store(0)
		}, 0},
		{"free slot with a flipped bit", single, func(s *slot, m message) { serve(s, m) }, func(s *slot, m message) { s.unique.Store(single) }, unix.EIO},
		{"new slot with a flipped bit", single, none, func(s *slot, m message) { s.unique.Store(single) }, unix.EIO},
		{"free slot with two flipped bits", 10, func(s *slot, m message) { serve(s, m) }, func(s *slot, m message) { s.unique.Store(10) }, unix.EIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLeft(t)
			s, m := l.slot(1), writeRequest(c.number, 0, data)
			c.before(s, m)
			c.leave(s, m)
			got := l.recoverAll()
			if len(got) != 1 || got[0].unique != c.number || got[0].errno != int(c.errno) {
				t.Errorf("answered %+v, want error %d", got, c.errno)
			}
			if want := map[bool][]byte{true: data, false: make([]byte, pageSize)}[c.errno == 0]; !bytes.Equal(l.page(0), want) {
				t.Error("the page is wrong")
			}
		})
	}
}

// A process that carried out a request which its predecessor had not sealed dies as well: the third
// process knows that the request is applied.
func TestCarryOnWithoutSealTwice(t *testing.T) {
	l := newLeft(t)
	s, newer := l.slot(1), varied(pageSize, 2)
	thread := l.successor().data.threads[1]
	copy(s.room(), writeRequest(1<<40, 0, varied(pageSize, 1)))
	thread.finish()
	l.wantAnswer(l.heard(dataConnection), 1<<40, 0, count(pageSize))
	l.write(0, newer)
	l.wantAnswer(l.recoverAll(), 1<<40, 0, count(pageSize))
	if !bytes.Equal(l.page(0), newer) {
		t.Error("an old write has come over a newer one")
	}
}

// A process died after a write was applied. Its page has been written since: to
// carry it out again would lose that.
func TestCarryOnWithWriteApplied(t *testing.T) {
	l := newLeft(t)
	s := l.slot(0)
	l.put(s, writeRequest(10, 5*pageSize, filled(pageSize, 'o')))
	s.apply(10, pageSize)
	newer := varied(pageSize, 2)
	l.write(5, newer)
	l.wantAnswer(l.recoverAll(), 10, 0, count(pageSize))
	if !bytes.Equal(l.page(5), newer) {
		t.Error("an old write has come over a newer one")
	}
}

// The same of a punch.
func TestCarryOnWithPunchApplied(t *testing.T) {
	l := newLeft(t)
	s := l.slot(0)
	l.put(s, punchRequest(12, 5*pageSize, pageSize))
	s.apply(12, 0)
	newer := varied(pageSize, 2)
	l.write(5, newer)
	l.wantAnswer(l.recoverAll(), 12, 0, nil)
	if !bytes.Equal(l.page(5), newer) {
		t.Error("an old punch has come over a newer write")
	}
}

func TestCarryOnWithPunchRead(t *testing.T) {
	l := newLeft(t)
	l.write(5, varied(pageSize, 2))
	l.put(l.slot(0), punchRequest(12, 5*pageSize, pageSize))
	l.wantAnswer(l.recoverAll(), 12, 0, nil)
	if !bytes.Equal(l.page(5), make([]byte, pageSize)) {
		t.Error("the punch was not carried out")
	}
}

// An applied request that failed is answered with its error again.
func TestCarryOnWithErrorApplied(t *testing.T) {
	l := newLeft(t)
	s := l.slot(0)
	l.put(s, writeRequest(10, 5*pageSize, varied(pageSize, 1)))
	s.apply(10, -int64(unix.ENOSPC))
	l.wantAnswer(l.recoverAll(), 10, int(unix.ENOSPC), nil)
	if !bytes.Equal(l.page(5), make([]byte, pageSize)) {
		t.Error("the write was carried out")
	}
}

// The applied request is an older one than the request in the slot, which has just been read.
func TestCarryOnWithOlderApplied(t *testing.T) {
	l := newLeft(t)
	s := l.slot(0)
	s.apply(8, pageSize)
	data := varied(pageSize, 1)
	l.put(s, writeRequest(10, 5*pageSize, data))
	l.wantAnswer(l.recoverAll(), 10, 0, count(pageSize))
	if !bytes.Equal(l.page(5), data) {
		t.Error("the write was not carried out")
	}
}

// A read may be carried out as often as one likes.
func TestCarryOnWithRead(t *testing.T) {
	l := newLeft(t)
	data := varied(pageSize, 3)
	l.write(7, data)
	l.put(l.slot(0), readRequest(14, 7*pageSize+100, 1000))
	l.wantAnswer(l.recoverAll(), 14, 0, data[100:1100])
}

// Requests that the kernel sends again have the same number but for one bit, and
// expect it back.
func TestCarryOnWithResent(t *testing.T) {
	l := newLeft(t)
	const unique = 1<<63 | 10
	s := l.slot(0)
	l.put(s, writeRequest(unique, 5*pageSize, filled(pageSize, 'o')))
	s.apply(unique, pageSize)
	l.wantAnswer(l.recoverAll(), unique, 0, count(pageSize))
	if !bytes.Equal(l.page(5), make([]byte, pageSize)) {
		t.Error("it was carried out again")
	}
}

// Each slot has its own.
func TestCarryOnWithSeveral(t *testing.T) {
	l := newLeft(t)
	l.put(l.slot(0), writeRequest(10, 0, filled(pageSize, 'a')))
	l.put(l.slot(1), writeRequest(12, pageSize, filled(pageSize, 'b')))
	got := l.recoverAll()
	if len(got) != 2 {
		t.Fatalf("answered %+v", got)
	}
	l.wantAnswer(got[:1], 10, 0, count(pageSize))
	l.wantAnswer(got[1:], 12, 0, count(pageSize))
	if l.page(0)[0] != 'a' || l.page(1)[0] != 'b' {
		t.Error("the pages are not those that were written")
	}
}

// A request that is itself what kills is not carried out for ever.
func TestCarryOnWithDeadlyRequest(t *testing.T) {
	l := newLeft(t)
	s := l.slot(0)
	data := varied(pageSize, 1)
	l.put(s, writeRequest(10, 5*pageSize, data))
	s.words[wordAttempts].Store(maxAttempts) // the most servers that may die of it
	l.wantAnswer(l.recoverAll(), 10, int(unix.EIO), nil)
	if !bytes.Equal(l.page(5), make([]byte, pageSize)) {
		t.Error("it was carried out")
	}
	// The next in that slot has done nothing.
	l.put(s, writeRequest(12, 5*pageSize, data))
	l.wantAnswer(l.recoverAll(), 12, 0, count(pageSize))
}

// An open data file counts once, however often it is opened, and not at all once
// it is closed, however often that is.
func TestCarryOnCountsOpensOnce(t *testing.T) {
	l := newLeft(t)
	open := request(opOpen, 10, dataNode, make([]byte, 8))
	closing := request(opRelease, 12, dataNode, make([]byte, 24))
	for i, c := range []struct {
		m    message
		want int
	}{{open, 1}, {open, 1}, {open, 1}, {closing, 0}, {closing, 0}, {request(opOpen, 14, dataNode, make([]byte, 8)), 1}} {
		l.put(l.slot(0), c.m)
		if got := l.recoverAll(); len(got) != 1 || got[0].errno != 0 || got[0].unique != c.m.unique() {
			t.Errorf("%d: answered %+v", i, got)
		}
		if got := l.session.OpenCount(); got != c.want {
			t.Errorf("%d: %d are open, want %d", i, got, c.want)
		}
	}
}

// An open that fails is none.
func TestCarryOnCountsNoFailedOpen(t *testing.T) {
	l := newLeft(t)
	l.put(l.slot(0), request(opOpen, 10, 4711, make([]byte, 8)))
	l.wantAnswer(l.recoverAll(), 10, int(unix.ENOENT), nil)
	s := l.successor()
	s.data.fs.closed.Store(true) // as during a reset
	l.put(l.slot(0), request(opOpen, 12, dataNode, make([]byte, 8)))
	if err := s.data.finish(); err != nil {
		t.Fatal(err)
	}
	l.wantAnswer(l.heard(dataConnection), 12, int(unix.EBUSY), nil)
	if got := l.session.OpenCount(); got != 0 {
		t.Errorf("%d are open", got)
	}
}

// A process dies after it has answered the write of an attribute, before the slot is free: its
// successor does not set the attribute again, which was set otherwise since.
func TestCarryOnWithSettingAnswered(t *testing.T) {
	for _, c := range []struct {
		name, text string
		errno      unix.Errno
	}{{"mem_limit", "8M", 0}, {"comp_algorithm", "none", unix.EINVAL}} {
		l := newLeft(t)
		thread := l.successor().attributes.threads[0]
		set := thread.c.fs.tree.lookup(deviceNode, c.name)
		m := request(opWrite, 10, set.id, append(transferArgument(0, len(c.text)), c.text...))
		l.put(thread.slot, m)
		thread.dispatch(thread.slot.room()[:len(m)])
		l.heard(attributeConnection)
		l.store.SetMemLimit(16 << 20)
		l.recoverAll()
		var data []byte
		if c.errno == 0 {
			data = count(len(c.text))
		}
		l.wantAnswer(l.heard(attributeConnection), 10, int(c.errno), data)
		if got := l.store.Stats().MemLimit; got != 16<<20 {
			t.Errorf("%s: the limit is %d", c.name, got)
		}
	}
}

// A reader who opened control/status before gets it from the successor, although the predecessor's
// snapshot is gone.
func TestCarryOnWithReadOfAttribute(t *testing.T) {
	l := newLeft(t)
	l.status = func([]string) ([]byte, error) { return []byte("as it is now"), nil }
	all, err := l.session.requests.slots(attributeConnection)
	if err != nil {
		t.Fatal(err)
	}
	status := l.successor().attributes.fs.tree.lookup(controlNode, "status")
	l.put(all[0], request(opRead, 10, status.id, transferArgument(3, 5)))
	l.recoverAll()
	l.wantAnswer(l.heard(attributeConnection), 10, 0, []byte("it is"))
}

// A process opens control/status while a server dies. Config.Status may wait until the successor
// has started, so Start must not wait for it.
func TestStartDoesNotWaitForStatus(t *testing.T) {
	l := newLeft(t)
	ready := make(chan struct{})
	l.status = func([]string) ([]byte, error) {
		<-ready
		return nil, nil
	}
	l.session.requests.keepInit(attributeConnection, initRequest(2))
	l.session.requests.keepInit(dataConnection, initRequest(2))
	all, err := l.session.requests.slots(attributeConnection)
	if err != nil {
		t.Fatal(err)
	}
	s := l.successor()
	status := s.attributes.fs.tree.lookup(controlNode, "status")
	l.put(all[0], request(opOpen, 10, status.id, make([]byte, 8)))
	started := make(chan error, 1)
	go func() { started <- s.Start() }()
	select {
	case err := <-started:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Error("it does not start")
	}
	close(ready)
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if got := l.heard(attributeConnection); len(got) > 0 {
			if got[0].unique != 10 || got[0].errno != 0 {
				t.Errorf("answered %+v", got)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("the open was not answered")
		}
	}
	s.Stop()
}

// Begin is called after what a predecessor left, and before what comes.
func TestBeginComesBetween(t *testing.T) {
	l := newLeft(t)
	l.session.requests.keepInit(attributeConnection, initRequest(2))
	l.session.requests.keepInit(dataConnection, initRequest(2))
	l.put(l.slot(0), readRequest(10, 0, pageSize))
	if err := l.send(dataConnection, readRequest(12, 0, pageSize)); err != nil {
		t.Fatal(err)
	}
	var before []answered
	s, err := NewServer(l.session.files, Config{Store: l.store, Algorithm: l.algorithm(), NoResend: true, Begin: func() {
		for range 50 { // a thread would have time to answer
			before = append(before, l.heard(dataConnection)...)
			time.Sleep(time.Millisecond)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if len(before) != 1 || before[0].unique != 10 {
		t.Errorf("when it was called the kernel had the answers %+v", before)
	}
	l.awaitAnswerOn(dataConnection, 12)
	s.Stop()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A predecessor has agreed with the kernel: the successor knows what about, tells
// the kernel nothing, and asks for what was never answered.
func TestCarryOnKnowsTheAgreement(t *testing.T) {
	l := newLeft(t)
	l.session.requests.keepInit(dataConnection, initRequest(2))
	s := l.successor()
	if err := s.data.recover(); err != nil {
		t.Fatal(err)
	}
	l.wantAnswer(l.heard(dataConnection), 0, -codeResend, nil)
	select {
	case <-s.data.agreed:
	default:
		t.Error("there is no agreement")
	}
	if want := uint64(capResend | fuse.CAP_ASYNC_DIO); s.data.flags&want != want {
		t.Errorf("agreed on %#x", s.data.flags)
	}
}

// Where the kernel cannot send anything again it is not asked to.
func TestCarryOnWithoutResend(t *testing.T) {
	l := newLeft(t)
	l.lone = true
	l.session.requests.keepInit(dataConnection, initRequest(2))
	if got := l.recoverAll(); len(got) != 0 {
		t.Errorf("it told the kernel %+v", got)
	}
}

// A predecessor died over the kernel's first request: it is answered.
func TestCarryOnWithInit(t *testing.T) {
	l := newLeft(t)
	m := initRequest(2)
	l.session.requests.keepInit(dataConnection, m)
	l.put(l.slot(0), m)
	got := l.recoverAll()
	if len(got) != 2 || got[0].unique != 2 || got[0].errno != 0 || len(got[0].data) != 64 {
		t.Fatalf("answered %+v", got)
	}
	if transfer := binary.LittleEndian.Uint32(got[0].data[20:]); transfer != leftTransfer {
		t.Errorf("a write may have %d bytes", transfer)
	}
	l.wantAnswer(got[1:], 0, -codeResend, nil)
}

// INTERRUPT asks for another request, and is answered that we do not.
func TestCarryOnWithInterrupt(t *testing.T) {
	l := newLeft(t)
	l.put(l.slot(0), request(opInterrupt, 11, 0, make([]byte, 8)))
	l.wantAnswer(l.recoverAll(), 11, int(unix.ENOSYS), nil)
}

// A process that dies before a write is applied leaves all of it: putting the answer together
// touches none of its data.
func TestWriteStaysWhole(t *testing.T) {
	l := newLeft(t)
	m := writeRequest(10, 0, varied(leftTransfer, 1))
	thread := l.successor().data.threads[0]
	l.put(thread.slot, m)
	thread.dispatch(thread.slot.room()[:len(m)])
	l.wantAnswer(l.heard(dataConnection), 10, 0, count(leftTransfer))
	if !bytes.Equal(thread.slot.room()[:len(m)], m) {
		t.Error("the request is not what it was: carried out once more it would write something else")
	}
}
