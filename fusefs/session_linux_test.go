// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// Counting open files, as Unmount does, may coincide with Close, which unmaps the memory of the
// counts.
func TestCloseWaitsForCounts(t *testing.T) {
	for range 50 {
		s := &Session{}
		if err := s.makeRequests(requestsShape{attributes: 1, data: 2, transfer: leftTransfer}); err != nil {
			t.Fatal(err)
		}
		var counting sync.WaitGroup
		var counts atomic.Int64
		var closed atomic.Bool
		counting.Go(func() {
			for !closed.Load() {
				if n := s.OpenCount(); n != 0 {
					t.Errorf("%d are open", n)
				}
				counts.Add(1)
			}
		})
		for counts.Load() == 0 { // until it is at it
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		closed.Store(true)
		counting.Wait()
	}
}

// Where there are too few descriptors, no session is made, and none stays open.
func TestSessionWithoutDescriptors(t *testing.T) {
	require.FUSE(t)
	dir := t.TempDir()
	var all unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &all); err != nil {
		t.Fatal(err)
	}
	session := func(most uint64) (*Session, error) {
		defer func() {
			if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &all); err != nil {
				t.Fatal(err)
			}
		}()
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: all.Max}); err != nil {
			t.Fatal(err)
		}
		return NewSession(dir, false, nil)
	}
	failed, device, before := 0, 0, 0
	for most := all.Cur; ; most = uint64(failed) { // first with all, for what the runtime opens once
		s, err := session(most)
		if err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		} else if failed++; s != nil || !errors.Is(err, unix.EMFILE) {
			t.Errorf("with %d descriptors: %v, %v", most, s, err)
		} else if strings.Contains(err.Error(), "open /dev/fuse") {
			device++
		}
		now := descriptors(t)
		if before = cmp.Or(before, now); now != before {
			t.Fatalf("with %d descriptors %d are open then, before %d", most, now, before)
		}
		if err == nil && most != all.Cur {
			break
		}
	}
	if failed < before || device == 0 {
		t.Errorf("a session was made with %d descriptors, %d times one for a connection was missing", failed, device)
	}
}

// descriptors is how many are open.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// A session whose copies are ended says that its data file's connection has ended. Its counters are
// there until Close.
func TestSessionEndsItsConnections(t *testing.T) {
	require.FUSE(t)
	require.Root(t)
	s, err := NewSession(t.TempDir(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f, at := s.Counters(); f != s.files.Requests || at%pageSize != 0 || at < buffersAt {
		t.Errorf("the counters lie in %v at %d", f, at)
	}
	if !s.OnlyCopied() {
		t.Error("a mount that is attached nowhere is visible")
	}
	if err := errors.Join(s.Pin(), s.Pin()); err != nil {
		t.Error(err)
	}
	if s.OnlyCopied() {
		t.Error("a data file that is hidden counts as copied")
	}
	if err := (&Session{dir: t.TempDir() + "/none"}).Pin(); !errors.Is(err, unix.ENOENT) {
		t.Errorf("holding a mount that is not there: %v", err)
	}
	if s.DataEnded() {
		t.Error("the connection has ended")
	}
	if ended, err := s.EndCopies(); err != nil || !ended {
		t.Error(ended, err)
	}
	if !s.DataEnded() {
		t.Error("the connection goes on")
	}
	ended, err := s.EndCopies() // what has ended is passed over
	if err = errors.Join(err, s.Close(), s.Close()); err != nil || ended {
		t.Error(ended, err)
	}
	if f, at := s.Counters(); f != nil || at != 0 {
		t.Errorf("after Close the counters lie in %v at %d", f, at)
	}
}

// Each of several connections is ended.
func TestConnectionsAreAborted(t *testing.T) {
	require.FUSE(t)
	require.Root(t)
	s, err := NewSession(t.TempDir(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if aborted, err := abortConnections(map[int]*os.File{1<<20 - 1: nil, s.attributes.number: s.files.Attributes, s.data.number: s.files.Data}); err != nil || !aborted {
		t.Error(err)
	}
	if !s.DataEnded() {
		t.Error("the last connection goes on")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A mount is copied where a process has it in its mount table.
func TestCopiesAreSeen(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	top, err := topMount(d.dir)
	if err != nil || top == nil {
		t.Fatal(top, err)
	}
	if !copied(top.Minor) {
		t.Error("no process has the mount")
	}
	if copied(1<<20 - 1) {
		t.Error("a process has a mount that nobody made")
	}
	data, err := topMount(d.path("dev"))
	if err != nil || data == nil {
		t.Fatal(data, err)
	}
	for _, m := range []struct {
		dir, typ string
		number   int
		copied   bool
	}{
		{d.path("dev"), dataTypeName, data.Minor, false}, {d.path("dev"), dataTypeName, data.Minor + 1, true},
		{d.path("dev"), typeName, data.Minor, true}, {d.path("block"), dataTypeName, data.Minor, true},
	} {
		if got := (&Session{data: mount{dir: m.dir, typ: m.typ, number: m.number}}).OnlyCopied(); got != m.copied {
			t.Errorf("%+v: there are only copies: %v", m, got)
		}
	}
}

// KeepRequests copies once both connections are negotiated, and not again.
func TestRequestsAreRestored(t *testing.T) {
	l := newLeft(t)
	r := l.session.requests
	keep := func(kind connectionKind) {
		r.keepInit(kind, initRequest(2))
		l.session.KeepRequests()
	}
	for _, kind := range []connectionKind{attributeConnection, dataConnection} {
		if l.session.KeepRequests(); l.session.fixed != nil {
			t.Fatalf("kept before the %v connection is negotiated", kind)
		}
		keep(kind)
	}
	for range 2 {
		for _, word := range []int{wordMagic, wordConnection, wordTelemetry, initAt / 8} {
			r.word(word).Store(r.word(word).Load() ^ 1)
			l.session.KeepRequests()
			if !l.session.RestoreRequests() {
				t.Errorf("word %d is not restored", word)
			}
			if l.session.RestoreRequests() {
				t.Errorf("word %d is restored twice", word)
			}
		}
	}
}
