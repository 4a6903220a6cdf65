// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/store"
)

// awaitAnswer waits until one request for attributes is answered.
func (l *left) awaitAnswer(unique uint64) (got answered) {
	l.t.Helper()
	return l.awaitAnswerOn(attributeConnection, unique)
}

func (l *left) awaitAnswerOn(kind connectionKind, unique uint64) (got answered) {
	l.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, a := range l.heard(kind) {
			if a.unique == unique {
				return a
			}
		}
	}
	l.t.Fatalf("request %d is not answered", unique)
	return got
}

// A server dies while an extra device is made and its mount point is looked up: the next server
// answers that before it has waited for the device.
func TestOthersDoNotWaitForHotAdd(t *testing.T) {
	for name, alone := range map[string]bool{"sent again": false, "never sent again": true} {
		t.Run(name, func(t *testing.T) {
			l := newLeftOf(t, requestsShape{attributes: 2, data: 2, transfer: leftTransfer})
			l.session.requests.keepInit(attributeConnection, initRequest(2))
			l.session.requests.keepInit(dataConnection, initRequest(2))
			made := make(chan struct{})
			add := func(request uint64) (int, error) {
				<-made
				return int(request), nil
			}
			s, err := NewServer(l.session.files, Config{
				Store: l.store, Algorithm: l.algorithm(), NoResend: alone, Add: add, Remove: func(uint64, int) error { return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			all, err := l.session.requests.slots(attributeConnection)
			if err != nil {
				t.Fatal(err)
			}
			hot := request(opRead, 10, s.attributes.fs.tree.lookup(controlNode, "hot_add").id, transferArgument(0, 100))
			l.put(all[0], hot)
			l.put(all[1], request(opOpen, 12, devicesNode, make([]byte, 8)))
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			if s.Negotiated().Resend == alone {
				t.Errorf("the settings say that the kernel sends again: %v", !alone)
			}
			want := uint64(10)
			if !alone {
				want |= resent
				l.sends(request(opRead, want, hot.node(), transferArgument(0, 100)))
			}
			l.sends(request(3, 14, rootNode, make([]byte, 16))) // GETATTR
			if a := l.awaitAnswer(14); a.errno != 0 {
				t.Errorf("answered %+v", a)
			}
			close(made)
			if a := l.awaitAnswer(want); string(a.data) != "10\n" {
				t.Errorf("answered %+v", a)
			}
			s.Stop()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// sends sends a request for attributes, as the kernel does.
func (l *left) sends(m message) {
	l.t.Helper()
	if err := l.send(attributeConnection, m); err != nil {
		l.t.Fatal(err)
	}
}

// heldWorkers keeps all work on pages of the store waiting, until release.
func (l *left) heldWorkers() (release func()) {
	held := make([]*store.Worker, 0, 64)
	for range 2 * runtime.GOMAXPROCS(0) { // as store.Config has it
		held = append(held, l.store.Acquire())
	}
	release = sync.OnceFunc(func() {
		for _, w := range held {
			w.Release()
		}
	})
	l.t.Cleanup(release)
	return release
}

// recompressing is a server that recompresses a page, which takes until release, and has extra
// devices.
func (l *left) recompressing(shape requestsShape, found bool, add func(uint64) (int, error)) (s *Server, release func()) {
	l.t.Helper()
	l.session.requests.keepInit(attributeConnection, initRequest(2))
	l.session.requests.keepInit(dataConnection, initRequest(2))
	l.write(0, varied(pageSize, 1))
	if err := l.session.requests.keepChosen(Settings{Recompression: [recompressions]string{"zstd"}}); err != nil {
		l.t.Fatal(err)
	}
	s, err := NewServer(l.session.files, Config{
		Store: l.store, Algorithm: l.algorithm(), NoResend: true, Add: add, Remove: func(uint64, int) error { return nil },
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		s.Stop()
		if err := s.Close(); err != nil {
			l.t.Error(err)
		}
	})
	order := request(opWrite, 20, s.attributes.fs.tree.lookup(deviceNode, "recompress").id, append(transferArgument(0, 8), "type=all"...))
	release = l.heldWorkers()
	if found {
		all, err := l.session.requests.slots(attributeConnection)
		if err != nil {
			l.t.Fatal(err)
		}
		l.put(all[0], order)
	}
	if err := s.Start(); err != nil {
		l.t.Fatal(err)
	}
	if !found {
		l.sends(order)
	}
	for s.attributes.fs.long.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	return s, release
}

// An extra device is made while pages are recompressed: its mount point can be looked up. Also a
// successor that finds the recompression answers others before.
func TestHotAddDuringRecompress(t *testing.T) {
	for name, found := range map[string]bool{"new": false, "found": true} {
		t.Run(name, func(t *testing.T) {
			shape := requestsShape{attributes: attributeThreads, data: 2, transfer: leftTransfer}
			l := newLeftOf(t, shape)
			made := make(chan struct{})
			s, release := l.recompressing(shape, found, func(uint64) (int, error) {
				<-made
				return 7, nil
			})
			end := sync.OnceFunc(func() { close(made) })
			t.Cleanup(end)
			l.sends(request(opRead, 10, s.attributes.fs.tree.lookup(controlNode, "hot_add").id, transferArgument(0, 100)))
			for s.attributes.fs.long.Load() < 2 {
				time.Sleep(time.Millisecond)
			}
			l.sends(request(3, 14, rootNode, make([]byte, 16))) // GETATTR
			l.awaitAnswer(14)
			end()
			if a := l.awaitAnswer(10); string(a.data) != "7\n" {
				t.Errorf("answered %+v", a)
			}
			release()
			if a := l.awaitAnswer(20); a.errno != 0 {
				t.Errorf("the recompression ended with %+v", a)
			}
		})
	}
}

// Of the threads for attributes one stays for requests that take no time.
func TestHotAddLeavesAThread(t *testing.T) {
	shape := requestsShape{attributes: 2, data: 2, transfer: leftTransfer}
	l := newLeftOf(t, shape)
	s, release := l.recompressing(shape, false, func(uint64) (int, error) { return 7, nil })
	hot := s.attributes.fs.tree.lookup(controlNode, "hot_add").id
	l.sends(request(opRead, 10, hot, transferArgument(0, 100)))
	if a := l.awaitAnswer(10); a.errno != int(unix.EAGAIN) {
		t.Errorf("answered %+v, want EAGAIN", a)
	}
	release()
	l.awaitAnswer(20)
	l.sends(request(opRead, 12, hot, transferArgument(0, 100)))
	if a := l.awaitAnswer(12); string(a.data) != "7\n" {
		t.Errorf("answered %+v", a)
	}
}

// A request that takes long is given up after as many deaths as any other, whichever thread gets it
// when the kernel sends it again.
func TestLongRequestIsGivenUp(t *testing.T) {
	l := newLeftOf(t, requestsShape{attributes: 3, data: 2, transfer: leftTransfer})
	l.session.requests.keepInit(attributeConnection, initRequest(2))
	l.session.requests.keepInit(dataConnection, initRequest(2))
	all, err := l.session.requests.slots(attributeConnection)
	if err != nil {
		t.Fatal(err)
	}
	for deaths := 1; deaths <= maxAttempts+1; deaths++ {
		s := l.successor()
		node := s.attributes.fs.tree.lookup(deviceNode, "recompress").id
		l.put(all[deaths%len(all)], request(opWrite, 10, node, append(transferArgument(0, 8), "type=all"...)))
		if err := errors.Join(s.attributes.recover(), s.attributes.finish()); err != nil {
			t.Fatal(err)
		}
		given := slices.ContainsFunc(l.heard(attributeConnection), func(a answered) bool { return a.unique == 10 && a.errno == int(unix.EIO) })
		if given != (deaths > maxAttempts) {
			t.Errorf("after %d deaths it is given up: %v", deaths, given)
		}
		if free := all[deaths%len(all)].unique.Load() == 0; !free {
			t.Errorf("after %d deaths the slot has the request", deaths)
		}
	}
	for _, s := range all {
		if n := s.words[wordAttempts].Load(); n != 0 {
			t.Errorf("%d attempts are counted for the next request", n)
		}
	}
}

// A request that is left to a successor by each of many servers is counted by each.
func TestLeftRequestIsCounted(t *testing.T) {
	l := newLeftOf(t, requestsShape{attributes: 1, data: 2, transfer: leftTransfer})
	s := l.successor()
	all, err := l.session.requests.slots(attributeConnection)
	if err != nil {
		t.Fatal(err)
	}
	node := s.attributes.fs.tree.lookup(deviceNode, "mem_limit").id
	l.put(all[0], request(opWrite, 10, node, append(transferArgument(0, 2), "1G"...)))
	s.attributes.fs.left.Store(uint64(10), true)
	for _, t := range s.attributes.threads {
		t.finish()
	}
	if n := all[0].words[wordAttempts].Load(); n != 1 {
		t.Errorf("%d attempts are counted, want 1", n)
	}
}

// A request that is left to a successor is whole, also a long list of pages to write back.
func TestLeftRequestIsWhole(t *testing.T) {
	l := newLeftOf(t, requestsShape{attributes: 2, data: 2, transfer: leftTransfer})
	fs := l.successor().attributes.fs
	all, err := l.session.requests.slots(attributeConnection)
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Repeat([]byte("page_index=1 "), 1000)
	m := request(opWrite, 10, fs.tree.lookup(deviceNode, "writeback").id, append(transferArgument(0, len(text)), text...))
	l.put(all[0], m)
	thread := l.successor().attributes.threads[0]
	thread.c.fs.left.Store(uint64(10), true)
	thread.finish()
	if got := l.heard(attributeConnection); len(got) != 0 || !bytes.Equal(all[0].room()[:len(m)], m) {
		t.Errorf("the request has changed, or is answered: %+v", got)
	}
	l.successor().attributes.threads[0].finish()
	if got := l.heard(attributeConnection); len(got) != 1 || got[0].unique != 10 || got[0].errno != int(unix.ENODEV) {
		t.Errorf("answered %+v, want that there is no backing device", got)
	}
}

// Several requests may be left to a successor at a time.
func TestRequestsAreLeft(t *testing.T) {
	l := newLeftOf(t, requestsShape{attributes: 2, data: 2, transfer: leftTransfer})
	fs := l.successor().attributes.fs
	status := fs.tree.lookup(controlNode, "status")
	for _, number := range []uint64{10, 12} {
		fs.refused(status, number, ErrLeft)
	}
	for _, number := range []uint64{10, 12} {
		if _, ok := fs.left.Load(number); !ok {
			t.Errorf("request %d is answered", number)
		}
	}
}

// Attempts are counted of requests that may take long, until such a request is answered. Opening
// the same attribute takes no time: it is answered before any thread serves.
func TestAttemptsAreForgotten(t *testing.T) {
	l := newLeftOf(t, requestsShape{attributes: 2, data: 2, transfer: leftTransfer})
	l.session.requests.keepInit(attributeConnection, initRequest(2))
	l.session.requests.keepInit(dataConnection, initRequest(2))
	s := l.successor()
	if err := s.attributes.recover(); err != nil {
		t.Fatal(err)
	}
	all, err := l.session.requests.slots(attributeConnection)
	if err != nil {
		t.Fatal(err)
	}
	all[1].words[wordAttempts].Store(2)
	node := s.attributes.fs.tree.lookup(deviceNode, "recompress").id
	l.heard(attributeConnection)
	l.put(all[0], request(opOpen, 10, node, []byte{unix.O_WRONLY, 0, 0, 0, 0, 0, 0, 0}))
	if err := s.attributes.finish(); err != nil {
		t.Fatal(err)
	}
	if got := l.heard(attributeConnection); len(got) == 0 || got[0].unique != 10 || got[0].errno != 0 {
		t.Errorf("answered %+v", got)
	}
	if n := all[1].words[wordAttempts].Load(); n != 2 {
		t.Errorf("after an open %d attempts are counted, want 2", n)
	}
	l.put(all[0], request(opWrite, 12, node, append(transferArgument(0, 8), "type=all"...)))
	s.attributes.threads[0].finish()
	if n := all[1].words[wordAttempts].Load(); n != 0 {
		t.Errorf("after an answer %d attempts are counted", n)
	}
}

// A process died while it carried a request out again, after that was applied.
// That is not held against the next request in the slot.
func TestCarryOnForgetsAttempts(t *testing.T) {
	l := newLeft(t)
	s := l.slot(0)
	for i := range uint64(maxAttempts + 1) {
		l.put(s, writeRequest(10+2*i, 0, varied(pageSize, 1)))
		s.words[wordAttempts].Add(1)
		s.apply(10+2*i, pageSize)
		l.wantAnswer(l.recoverAll(), 10+2*i, 0, count(pageSize))
	}
	l.put(s, writeRequest(100, 0, varied(pageSize, 1)))
	l.wantAnswer(l.recoverAll(), 100, 0, count(pageSize))
}
