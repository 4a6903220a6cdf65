// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

var flipAll = flag.Bool("flips", false, "flip every bit of the requests' memory, not a sample")

// flipScene is what a process that died has left in slot 0. Pages 5 and 6 hold what was there
// before; the request concerns page 5.
type flipScene struct {
	name  string
	leave func(l *left, s *slot)
	done  bool // the page holds what the request says
}

var flipBefore, flipAfter = filled(pageSize, 'o'), varied(pageSize, 9)

func flipScenes() []flipScene {
	write := writeRequest(12, 5*pageSize, flipAfter)
	receive := func(l *left, s *slot) { l.put(s, write) }
	return []flipScene{
		{"free", func(l *left, s *slot) { // what was answered is still in the buffer
			receive(l, s)
			s.apply(12, pageSize)
			s.free()
		}, false},
		{"received", receive, false},
		{"applied", func(l *left, s *slot) {
			receive(l, s)
			s.apply(12, pageSize)
			l.write(5, flipAfter)
		}, true},
		{"after another", func(l *left, s *slot) { // whose number differs by one bit
			s.apply(8, pageSize/2)
			receive(l, s)
		}, false},
	}
}

// flipPlaces are the bytes that a flip may make a difference in: the words of the memory and of the
// slot, the INIT requests, and the request but for the data of a write.
func flipPlaces(l *left) (places []int) {
	s := l.slot(0)
	stretch := func(from, n int) {
		for i := range n {
			places = append(places, from+i)
		}
	}
	stretch(0, (wordImage+1)*8)
	stretch(initAt, 2*initSize)
	stretch(slotWordsAt+64, 64) // the data slots come after the attribute slot
	at := buffersAt + bufferOff + attributeTransfer + messageAt
	if &l.session.requests.mem[at] != &s.buffer[messageAt] {
		l.t.Fatal("the request is elsewhere")
	}
	stretch(at, sealedSize)
	return places
}

// Every bit of the memory of requests is flipped after a process died: its successor, started again
// and again if it must, carries on with the right pages, answers EIO or has the request sent again,
// and does not wait or die for ever.
func TestFlipsOfRequests(t *testing.T) {
	rng := rand.New(rand.NewPCG(require.Seed(t, 1), 17))
	places := flipPlaces(newLeft(t))
	tried, outcomes, each := 0, map[string]int{}, 40
	if testing.Short() {
		each = 4
	}
	for _, scene := range flipScenes() {
		for _, resend := range []bool{false, true} {
			for bit := range len(places) * 8 {
				if !*flipAll && rng.IntN(len(places)*8) > each {
					continue
				}
				tried++
				what := fmt.Sprintf("%s, resend %v, byte %#x, bit %d", scene.name, resend, places[bit/8], bit%8)
				if !t.Run(what, func(t *testing.T) { outcomes[flipRequest(t, scene, resend, places[bit/8], bit%8)]++ }) {
					t.FailNow()
				}
			}
		}
	}
	t.Logf("%d bits flipped: %v", tried, outcomes)
}

func flipRequest(t *testing.T, scene flipScene, resend bool, at, bit int) (outcome string) {
	l := newLeft(t)
	for _, kind := range []connectionKind{attributeConnection, dataConnection} {
		l.session.requests.keepInit(kind, initRequest(2))
	}
	l.lone = !resend
	l.session.KeepRequests()
	l.write(5, flipBefore)
	l.write(6, flipBefore)
	s := l.slot(0)
	scene.leave(l, s)
	l.session.requests.mem[at] ^= 1 << bit
	l.session.RestoreRequests()

	server, err := NewServer(l.session.files, Config{Store: l.store, Algorithm: l.algorithm(), NoResend: l.lone})
	if err != nil {
		t.Fatalf("no process can serve any longer: %v", err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := errors.Join(server.attributes.recover(), server.data.recover()); err != nil {
		t.Fatalf("no process can carry on: %v", err)
	}
	for number, content := range map[uint64][]byte{4: nil, 6: flipBefore, 7: nil} {
		if content == nil {
			content = make([]byte, pageSize)
		}
		if !bytes.Equal(l.page(number), content) {
			t.Errorf("page %d is wrong", number)
		}
	}
	return l.judge(scene)
}

// judge says how a request ended, and fails the test if that is wrong.
func (l *left) judge(scene flipScene) (outcome string) {
	t, page := l.t, l.page(5)
	outcome = "dropped"
	answered := false
	for _, a := range l.heard(dataConnection) {
		switch {
		case a.errno < 0 && a.unique == 0: // no answer
			if !answered {
				outcome = "sent again"
			}
		case a.unique == 12 && a.errno == 0 && bytes.Equal(a.data, count(pageSize)):
			outcome, answered = "answered", true
		case a.unique == 12 && a.errno == int(unix.EIO):
			outcome = "EIO"
		case a.unique == 12:
			t.Errorf("answered %+v", a)
		}
	}
	done := bytes.Equal(page, flipAfter)
	switch {
	case !done && !bytes.Equal(page, flipBefore):
		t.Error("the page is neither old nor new")
	case scene.name == "free" && done:
		t.Error("a request that was answered long ago was carried out again")
	case scene.done && !done:
		t.Error("what was applied is gone")
	case answered && !done && scene.name != "free":
		t.Error("answered, and not carried out")
	case outcome == "dropped" && scene.name != "free":
		t.Error("neither answered nor sent again")
	}
	return outcome
}

// A bit of the counts of open handles flips: a device in use is not taken for unused, and bits of
// the requests' numbers change nothing.
func TestFlipsOfHandles(t *testing.T) {
	l := newLeft(t)
	s := l.slot(0)
	for _, open := range []int{0, 1, 3} {
		for n := range open {
			s.countHandle(uint64(100+4*open+2*n), 1)
		}
		for _, word := range []int{wordHandles, wordTwin} {
			for bit := range 64 {
				w := &s.words[word]
				kept := w.Load()
				w.Store(kept ^ 1<<bit)
				if n := l.session.OpenCount(); n < open || bit >= 32 && n != open {
					t.Errorf("%d are open; with bit %d of word %d flipped it is %d", open, bit, word, n)
				}
				w.Store(kept)
			}
		}
		for n := range open {
			s.countHandle(uint64(200+4*open+2*n), -1)
		}
		if n := l.session.OpenCount(); n != 0 {
			t.Fatalf("%d are open after all were closed", n)
		}
	}
}
