// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// awaitAnswer waits until one request for attributes is answered.
func (l *left) awaitAnswer(unique uint64) (got answered) {
	l.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, a := range l.heard(attributeConnection) {
			if a.unique == unique {
				return a
			}
		}
	}
	l.t.Fatalf("request %d is not answered", unique)
	return got
}

// A server dies while a further device is made, whose mount point is looked up meanwhile: the next
// server answers that before it has waited for the device.
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
	if _, err := unix.Write(l.kernel[attributeConnection], m); err != nil {
		l.t.Fatal(err)
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
