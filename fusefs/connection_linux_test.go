// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Only requests on the data file are counted, each by its thread, and counters with fewer places
// serve as well.
func TestThreadsHaveAccounts(t *testing.T) {
	l := newLeftOf(t, requestsShape{attributes: 2, data: 4, transfer: leftTransfer})
	counters, err := privateCounters(3)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(l.session.files, Config{Store: l.store, Algorithm: l.algorithm(), Counters: counters})
	if err != nil {
		t.Fatal(err)
	}
	for i, thread := range append(slices.Clone(s.attributes.threads), s.data.threads...) {
		if has := thread.account != nil; has != (i >= 2 && i < 5) {
			t.Errorf("thread %d of 2 and 4 counts: %v", i, has)
		}
	}
	if err := errors.Join(s.Close(), counters.Close()); err != nil {
		t.Error(err)
	}
}

// A successor has the kernel forget the size where a server before it has made the device anew, and
// says so where the kernel cannot be told anything.
func TestKernelIsTold(t *testing.T) {
	l := newLeft(t)
	if l.successor().resized {
		t.Error("a device is taken for one that was made anew")
	}
	if err := l.session.requests.keepChosen(Settings{Resized: 7}); err != nil {
		t.Fatal(err)
	}
	s := l.successor()
	if !s.resized {
		t.Error("a device that was made anew is not known as one")
	}
	var logs logBook
	s.data.fs.logf = logs.add
	s.data.forgetSize()
	got := l.heard(dataConnection)
	if len(got) != 1 || got[0].unique != 0 || got[0].errno != -codeInvalidateInode || got[0].length != outHeaderSize+invalidateSize ||
		binary.LittleEndian.Uint64(got[0].data) != dataNode || int64(binary.LittleEndian.Uint64(got[0].data[8:])) != -1 {
		t.Errorf("the kernel is told %+v", got)
	}
	s.data.notifyPoll(77)
	if got := l.heard(dataConnection); len(got) != 1 || got[0].errno != -codePoll || binary.LittleEndian.Uint64(got[0].data) != 77 {
		t.Errorf("the kernel is told %+v", got)
	}
	if n := len(logs.all()); n != 0 {
		t.Errorf("logged %q", logs.all())
	}
	if err := unix.Shutdown(l.kernel[dataConnection], unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	s.data.forgetSize()
	s.data.notifyPoll(77)
	if n := len(logs.all()); n != 2 {
		t.Errorf("logged %q", logs.all())
	}
	if err := s.data.askAgain(); !errors.Is(err, unix.EPIPE) {
		t.Errorf("asking for requests again: %v", err)
	}
}

// A request of the least length is found where it was sealed, and a shorter one is damage.
func TestLeastRequestIsFound(t *testing.T) {
	l := newLeft(t)
	s := l.slot(0)
	m := request(opRead, 6, dataNode, nil)
	l.put(s, m)
	s.unique.Store(6)
	if got := s.inspect(); got != foundRequest {
		t.Errorf("found %v", got)
	}
	binary.LittleEndian.PutUint32(s.room(), inHeaderSize-1)
	if got := s.inspect(); got != foundDamage {
		t.Errorf("with another length found %v", got)
	}
	s.free()
}

// Files that cannot be closed are told of.
func TestSessionSaysWhatCannotBeClosed(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Session{
		"attributes' mount": {attributes: mount{file: f}}, "data mount": {data: mount{file: f}}, "pin": {pin: f},
		"connections": {files: Files{Data: f}}, "requests": {files: Files{Requests: f}},
	} {
		if err := s.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s, once more: %v", name, err)
		}
	}
	s := &Session{attributes: mount{file: f}}
	if err := s.Unmount(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("unmount: %v", err)
	}
}

// Links to extra devices lead to them, and there are no others.
func TestLinksToExtraDevices(t *testing.T) {
	f := newTestFileSystem(t, 4*pageSize)
	f.extraDevices = func() ExtraDevices { return ExtraDevices(0).With(3) }
	for _, c := range []struct {
		dir          uint64
		name, target string
	}{{blockNode, "zram3", "../devices/zram3/block/zram0"}, {rootNode, "zram3", ""}, {blockNode, "zram4", ""}, {blockNode, "zram03", ""}} {
		n := f.find(c.dir, c.name)
		if n == nil {
			if c.target != "" {
				t.Errorf("%s is not there", c.name)
			}
			continue
		}
		target, status := f.Readlink(nil, &fuse.InHeader{NodeId: n.id})
		if string(target) != c.target || status.Ok() != (c.target != "") || !bytes.HasSuffix([]byte(n.name), []byte("3")) {
			t.Errorf("%s leads to %q, %v", c.name, target, status)
		}
		if size := f.sizeOf(n); size != uint64(len(c.target)) {
			t.Errorf("%s has %d bytes", c.name, size)
		}
	}
	if _, status := f.Readlink(nil, &fuse.InHeader{NodeId: 1 << 50}); status != fuse.EINVAL {
		t.Errorf("nothing leads somewhere: %v", status)
	}
	if dir := ExtraDir("/a", 3); dir != "/a/devices/zram3" {
		t.Errorf("it is mounted at %s", dir)
	}
}

// EndCopies leaves a device alone while a program has one of its copies open.
func TestCopyInUseIsNotEnded(t *testing.T) {
	l := newLeft(t)
	l.slot(0).countHandle(5, 1)
	if _, err := l.session.EndCopies(); !errors.Is(err, ErrInUse) {
		t.Errorf("with an open handle: %v", err)
	}
	if l.session.DataEnded() {
		t.Error("the connection has ended")
	}
}

// A server that waits for the kernel's negotiation goes on once it is there, also where the
// connection has ended by then, and says so where it will not come.
func TestAgreementIsAwaited(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	c := &connection{kind: dataConnection, agreed: make(chan struct{})}
	if err := c.awaitInit(ended); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "the data connection") {
		t.Errorf("the connection has ended, and the answer is %v", err)
	}
	close(c.agreed)
	for range 20 { // whichever is looked at first
		if err := c.awaitInit(ended); err != nil {
			t.Error(err)
		}
	}
	if name := attributeConnection.String(); name != "attributes" {
		t.Errorf("the other connection is called %q", name)
	}
}

// Files that are polled are notified by a successor, each once, if they were not notified before
// and are still open.
func TestSuccessorNotifiesPolledFiles(t *testing.T) {
	l := newLeft(t)
	words := l.session.requests.polled()
	for kh := range uint64(len(words) + 2) { // two have no place
		words.add(100 + kh)
	}
	words.remove(100)
	words.remove(0)
	words.remove(5000)
	var woken []uint64
	p := &pressure{words: words, notify: func(kh uint64) { woken = append(woken, kh) }}
	p.succeed()
	want := []uint64{}
	for kh := range uint64(len(words) - 1) {
		want = append(want, 101+kh)
	}
	if !slices.Equal(woken, want) {
		t.Errorf("notified %v, want %v", woken, want)
	}
	if p.succeed(); len(woken) != len(want) {
		t.Error("files are notified twice")
	}
	words.add(7)
	words.add(8)
	p.waiting = map[uint64]uint64{1: 7}
	p.forget(1)
	p.forget(2)
	woken = nil
	if p.succeed(); !slices.Equal(woken, []uint64{8}) {
		t.Errorf("with one of two files closed notified %v", woken)
	}
}

// The slots have the room that the kernel demands for a request, however few pages it allows.
func TestSmallestTransfer(t *testing.T) {
	for pages, want := range map[int]int{1: leastRead, 2: leastRead, 3: 12288, 64: wantWrite, 65535: wantWrite} {
		shape := requestsShape{attributes: 1, data: 1, transfer: transferOf(pages)}
		r := requests{make([]byte, shape.size())}
		r.format(shape)
		slots, err := r.slots(dataConnection)
		if err != nil {
			t.Fatal(err)
		}
		if room := len(slots[0].room()); shape.transfer != want || room < max(leastRead, inHeaderSize+argumentSize+want) {
			t.Errorf("%d pages: a transfer of %d bytes, want %d, in slots of %d", pages, shape.transfer, want, room)
		}
	}
}
