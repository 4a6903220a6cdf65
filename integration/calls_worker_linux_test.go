// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// callsWait is how long calls go on failing after a worker has died. Several workers that die at
// once need less.
const callsWait = time.Second / 2

// TestCallsOfWorker kills the worker under a verifying load on a loop device, and fails the calls
// of the keeper and of the next worker: no request has an error or wrong data, and once calls
// succeed again, a worker serves.
func TestCallsOfWorker(t *testing.T) {
	needCalls(t)
	require.Loop(t)
	setDebug(t, debugNoPause)
	s := startSupervisor(t)
	s.pages = true
	h := holdEmpty(t, s)
	v := startVerifier(t, verifyOrder{Path: attachments["loopsetup"](t, h.dir), Bytes: crashBytes / 2, Threads: 2, Seed: 11})
	c := newCrashing(t, h.dir)
	l := callLoop{name: "worker", roles: []string{"keeper", "worker"}, once: func(t *testing.T, arm armed) failing {
		c.t = t
		s.tell(t, callOrder{Arm: &arm})
		c.kill()
		time.Sleep(callsWait)
		f := s.tell(t, callOrder{Done: true}).Failing
		v.ask(t, verifyLap)
		h.wantServed(t)
		return f
	}}
	l.run(t)
	v.end(t)
}

// wantServed waits until a worker is in service.
func (h *held) wantServed(t *testing.T) {
	t.Helper()
	within(t, commandTimeout, "a worker serves", func() bool {
		s, err := readStatus(h.dir)
		return err == nil && unix.Kill(s.WorkerPID, 0) == nil && len(childrenOf(h.keeper)) == 1
	})
}

// TestCallsAnswerIsSentAgain interrupts the sending of answers: no request waits for ever.
func TestCallsAnswerIsSentAgain(t *testing.T) {
	needCalls(t)
	s := startSupervisor(t)
	s.pages = true
	h := hold(t, s)
	answers := 0
	for n := 1; n <= 5; n++ {
		s.tell(t, callOrder{Arm: &armed{N: n, Roles: []string{"worker"}, Calls: []string{"write"}}})
		client(t, heldPart, "compare", h.dir)
		f := s.tell(t, callOrder{Done: true}).Failing
		if f.What != "worker: write: EINTR" {
			t.Errorf("what has failed is %q of %q", f.What, f.On)
		}
		if f.On == "/dev/fuse" { // else the runtime has woken a thread
			answers++
		}
	}
	if answers == 0 {
		t.Error("no answer was interrupted")
	}
}

// TestCallsReadsFail has each read of requests fail for a while: the threads do not ask without a
// pause, and carry requests out once reads succeed again.
func TestCallsReadsFail(t *testing.T) {
	const threads = 20 // more than a worker has for requests
	needCalls(t)
	s := startSupervisor(t)
	s.pages = true
	h := hold(t, s)
	begun := time.Now()
	s.tell(t, callOrder{Arm: &armed{N: 1, Again: true, Turn: 2, Roles: []string{"worker"}, Calls: []string{"read"}}})
	comparing := clientCommand(t.Context(), heldPart, "compare", h.dir)
	if err := comparing.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, commandTimeout, "reads fail", func() bool { return s.tell(t, callOrder{Look: true}).Failing.Failed >= 10 })
	time.Sleep(300 * time.Millisecond)
	most := threads * int(time.Since(begun)/time.Millisecond)
	f := s.tell(t, callOrder{Done: true}).Failing
	// The first may be of another file: the worker reads its status to warm up.
	if f.Failed > most || f.What != "worker: read: EIO" {
		t.Errorf("%d reads have failed, the first of %q: %s; want up to %d", f.Failed, f.On, f.What, most)
	}
	if err := comparing.Wait(); err != nil {
		t.Error(err)
	}
}
