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
		Firmly: func(take func() error) error {
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
			thread.carryOut(message(thread.slot.room()[:len(m)]))
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
	other.carryOut(readRequest(12, 0, pageSize))
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
