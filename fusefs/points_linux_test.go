// SPDX-License-Identifier: Apache-2.0

//go:build invariants || race

package fusefs

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/zramfs/zramfs/internal/killpoint"
)

// dieAt lets a server take a request and die at a point, as far as a goroutine can: it stops there,
// and memory stays as it is. The store does not die with it: its points are the integration tests'.
func (l *left) dieAt(point string, m message) {
	l.t.Helper()
	met := false
	killpoint.Hook(func(name string) {
		if name == point {
			met = true
			runtime.Goexit()
		}
	})
	defer killpoint.Hook(nil)
	thread := l.successor().data.threads[0]
	l.put(thread.slot, m)
	died := make(chan struct{})
	go func() {
		defer close(died)
		thread.dispatch(thread.slot.room()[:len(m)])
	}()
	<-died
	if !met {
		l.t.Fatalf("%q was not met", point)
	}
}

// Wherever a process dies between a write and its answer, the write is there once
// it is answered; and once it was applied, another that is newer stays.
func TestEveryPointOfDeathInAWrite(t *testing.T) {
	data := varied(leftTransfer, 1)
	pages := uint64(leftTransfer / pageSize)
	for _, c := range []struct {
		point string
		again bool // carried out again
	}{
		{"request carried out", true}, {"result noted", true}, {"result sealed", false}, {"request applied", false},
	} {
		t.Run(c.point, func(t *testing.T) {
			l := newLeft(t)
			l.dieAt(c.point, writeRequest(10, 0, data))
			newer := filled(pageSize, 'n')
			if !c.again {
				l.write(1, newer)
			}
			if got := l.heard(dataConnection); len(got) != 0 {
				t.Errorf("the dead answered %+v", got)
			}
			l.wantAnswer(l.recoverAll(), 10, 0, count(len(data)))
			for page := range pages {
				want := data[page*pageSize:][:pageSize]
				if !c.again && page == 1 {
					want = newer
				}
				if !bytes.Equal(l.page(page), want) {
					t.Errorf("page %d is wrong", page)
				}
			}
		})
	}
}

// The same of a punch that has a part of a page on either side.
func TestEveryPointOfDeathInAPunch(t *testing.T) {
	for _, c := range []struct {
		point string
		again bool
	}{
		{"request carried out", true}, {"result noted", true}, {"result sealed", false}, {"request applied", false},
	} {
		t.Run(c.point, func(t *testing.T) {
			l := newLeft(t)
			old := varied(4*pageSize, 3)
			for page := range uint64(4) {
				l.write(page, old[page*pageSize:][:pageSize])
			}
			l.dieAt(c.point, punchRequest(12, 100, 3*pageSize))
			want := bytes.Clone(old)
			clear(want[100 : 100+3*pageSize])
			if !c.again {
				copy(want[pageSize:], filled(pageSize, 'n'))
				l.write(1, filled(pageSize, 'n'))
			}
			l.wantAnswer(l.recoverAll(), 12, 0, nil)
			for page := range uint64(4) {
				if !bytes.Equal(l.page(page), want[page*pageSize:][:pageSize]) {
					t.Errorf("page %d is wrong", page)
				}
			}
		})
	}
}

// An open is answered however its first server died, and counts once.
func TestEveryPointOfDeathInAnOpen(t *testing.T) {
	for _, point := range []string{"other request carried out", "other request counted"} {
		t.Run(point, func(t *testing.T) {
			l := newLeft(t)
			l.dieAt(point, request(opOpen, 10, dataNode, make([]byte, 8)))
			got := l.recoverAll()
			if len(got) != 1 || got[0].errno != 0 || l.session.OpenCount() != 1 {
				t.Errorf("answered %+v, %d are open", got, l.session.OpenCount())
			}
		})
	}
}

// A process that dies while it recovers leaves its successor as much to recover.
func TestEveryPointOfDeathInCarryingOn(t *testing.T) {
	for _, point := range []string{"request found", "request carried out", "request applied", "found request answered", "requests finished"} {
		t.Run(point, func(t *testing.T) {
			l := newLeft(t)
			data := varied(leftTransfer, 1)
			l.put(l.slot(0), writeRequest(10, 0, data))
			killpoint.Hook(func(name string) {
				if name == point {
					runtime.Goexit()
				}
			})
			died := make(chan struct{})
			s := l.successor()
			go func() {
				defer close(died)
				t.Error("it lives on", s.data.recover())
			}()
			<-died
			killpoint.Hook(nil)
			got := append(l.heard(dataConnection), l.recoverAll()...)
			if len(got) == 2 { // answered twice; the kernel ignores the second answer
				got = got[1:]
			}
			l.wantAnswer(got, 10, 0, count(len(data)))
			for page := range uint64(leftTransfer / pageSize) {
				if !bytes.Equal(l.page(page), data[page*pageSize:][:pageSize]) {
					t.Errorf("page %d is wrong", page)
				}
			}
		})
	}
}
