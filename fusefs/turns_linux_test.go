// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store"
)

// For any number of processors, and of threads in the session, the threads that may wait for memory
// leave enough for all turns. Otherwise no thread would read.
func TestWaitingLeavesThreadsForTurns(t *testing.T) {
	for _, threads := range []int{2, 3, 4, 8, 16} {
		l := newLeftOf(t, requestsShape{attributes: 1, data: threads, transfer: leftTransfer})
		waiting, err := l.session.Files().MaxWaiting()
		if err != nil {
			t.Fatal(err)
		}
		if turns := cap(l.successor().data.turns); turns < 1 || waiting < 1 || turns+waiting > threads {
			t.Errorf("%d threads: %d have a turn and %d may wait", threads, turns, waiting)
		}
	}
}

// A thread whose write waits for memory gives its turn to another, which reads, and takes a turn
// before its next request. It keeps the turn through requests that wait for nothing.
func TestWaitingThreadGivesItsTurn(t *testing.T) {
	var short atomic.Bool // of memory
	l := newLeftOn(t, requestsShape{attributes: 1, data: 3, transfer: leftTransfer}, store.Config{
		Disksize: smallDisk, MaxWaiting: 1,
		AllocHook: func(take func() error) error {
			for short.Load() {
				time.Sleep(time.Millisecond)
			}
			return take()
		},
	})
	short.Store(true)
	defer short.Store(false)
	s := l.successor()
	c, thread := s.data, s.data.threads[0]
	free := func() int { return len(c.turns) }
	turns := free()
	if !thread.takeTurn() || free() != turns-1 || !thread.takeTurn() || free() != turns-1 {
		t.Fatalf("%d of %d turns are left after one was taken", free(), turns)
	}
	data := make([]byte, leftTransfer)
	random := rand.NewChaCha8([32]byte{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for off := uint64(0); thread.turn && off < smallDisk; off += leftTransfer { // until one waits
			_, _ = random.Read(data) // it never fails
			m := writeRequest(10, off, data)
			copy(thread.slot.room(), m)
			thread.dispatch(message(thread.slot.room()[:len(m)]))
			l.heard(dataConnection)
		}
	}()
	for end := time.Now().Add(patience); free() < turns; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a write waits for memory, and its thread keeps the turn")
		}
	}
	other := c.threads[1]
	if !other.takeTurn() {
		t.Error("there is no turn for another thread")
	}
	other.dispatch(readRequest(12, 0, pageSize))
	other.giveTurn()
	short.Store(false)
	<-ended
	if thread.turn || free() != turns {
		t.Errorf("%d of %d turns are left", free(), turns)
	}
	if !thread.takeTurn() || free() != turns-1 {
		t.Error("the thread took no turn again")
	}
	thread.giveTurn()
}

// A request is in flight until it is answered. One that comes alone, after a pause, is a lone one.
func TestRequestsInFlight(t *testing.T) {
	l := newLeft(t)
	l.session.requests.keepInit(attributeConnection, initRequest(2))
	l.session.requests.keepInit(dataConnection, initRequest(2))
	var lone atomic.Int32
	s, err := NewServer(l.session.files, Config{
		Store: l.store, Algorithm: l.algorithm(), NoResend: true, FaultSeen: func(time.Time) { lone.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	ask := func(unique uint64) {
		t.Helper()
		if err := l.send(dataConnection, readRequest(unique, 0, pageSize)); err != nil {
			t.Fatal(err)
		}
	}
	awaitInFlight := func(want int) {
		t.Helper()
		for end := time.Now().Add(patience); s.inFlight() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d requests are in flight, want %d", s.inFlight(), want)
			}
		}
	}
	for unique := uint64(10); unique < 20; unique += 2 { // the first of each thread comes after no pause
		ask(unique)
		l.awaitAnswerOn(dataConnection, unique)
		awaitInFlight(0)
		if n := lone.Load(); unique == 10 && n != 0 {
			t.Errorf("%d requests came after a pause, of one", n)
		}
	}
	if n := lone.Load(); n < 1 || n > 4 {
		t.Errorf("%d of 5 requests of two threads came alone", n)
	}
	release := l.heldWorkers()
	ask(30)
	awaitInFlight(1)
	release()
	l.awaitAnswerOn(dataConnection, 30)
	awaitInFlight(0)
	s.Stop()
	for name, ended := range map[string]<-chan struct{}{"data": s.DataEnded(), "attributes": s.AttributesEnded(), "all": s.Ended()} {
		select {
		case <-ended:
		case <-time.After(patience):
			t.Errorf("%s: not ended", name)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
