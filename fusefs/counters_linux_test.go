// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/telemetry"
)

// forgetCounters makes the memory of requests that of a version without counters.
func (l *left) forgetCounters(t *testing.T) (size int64) {
	t.Helper()
	shape, err := l.session.requests.shape()
	if err != nil {
		t.Fatal(err)
	}
	l.session.requests.word(wordTelemetry).Store(0)
	if err := unix.Ftruncate(int(l.session.files.Requests.Fd()), int64(shape.size())); err != nil {
		t.Fatal(err)
	}
	return int64(shape.size())
}

// The memory of a session that an earlier version has made gets counters with the first worker that
// has them; the next one finds them, and requests stay where they were.
func TestCountersAreAppended(t *testing.T) {
	l := newLeft(t)
	l.forgetCounters(t)
	mapped := mappings(t)
	for worker := range uint64(3) {
		c, err := l.session.files.Counters()
		if err != nil || c.Private {
			t.Fatalf("worker %d: %+v, %v", worker, c, err)
		}
		if got := c.Area.Operations()[telemetry.Read].Requests; got != worker || c.Area.Slots() != 2 {
			t.Errorf("worker %d finds %d requests in %d slots", worker, got, c.Area.Slots())
		}
		c.Area.Slot(1).Note(&telemetry.Request{Op: telemetry.Read, Pages: 1, Bytes: pageSize})
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if now := mappings(t); now != mapped {
		t.Errorf("the memory is mapped %d times, before %d", now, mapped)
	}
	if _, err := l.session.files.MaxWaiting(); err != nil {
		t.Errorf("the requests are refused afterwards: %v", err)
	}
	l.put(l.slot(0), writeRequest(10, 0, varied(pageSize, 1))) // the session's memory is as it was
	l.wantAnswer(l.recoverAll(), 10, 0, []byte{0, pageSize >> 8, 0, 0, 0, 0, 0, 0})
}

// mappings is how often memory of requests is mapped here.
func mappings(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(maps), "/memfd:zramfs-requests")
}

// A server that has ended keeps no memory.
func TestServerUnmaps(t *testing.T) {
	l := newLeft(t)
	before := mappings(t)
	s, err := NewServer(l.session.files, Config{Store: l.store, Algorithm: l.algorithm()})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if now := mappings(t); now != before {
		t.Errorf("the memory of requests is mapped %d times, before %d", now, before)
	}
}

// Counters of another layout are left alone, and the worker has its own.
func TestDamagedCountersAreLeftAlone(t *testing.T) {
	l := newLeft(t)
	at := l.session.requests.word(wordTelemetry).Load()
	l.session.requests.words(int(at), 1)[0].Add(1)
	c, err := l.session.files.Counters()
	if !errors.Is(err, telemetry.ErrLayout) || c == nil || !c.Private {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	l.session.NoteEvent(telemetry.Warning, "no harm")
	for _, at := range []uint64{1 << 62, 4096 + 4} { // the process that keeps the device must not die of it
		l.session.requests.word(wordTelemetry).Store(at)
		l.session.NoteEvent(telemetry.Warning, "no harm")
	}
}

// A request that was under way when its process died is counted by the one that answers it, and
// only once.
func TestFoundRequestsAreCounted(t *testing.T) {
	l := newLeft(t)
	l.put(l.slot(0), writeRequest(10, 0, varied(pageSize, 1)))
	l.put(l.slot(1), writeRequest(12, pageSize, varied(pageSize, 2)))
	l.slot(1).apply(12, -int64(syscall.ENOSPC))
	c, err := l.session.files.Counters()
	if err != nil {
		t.Fatal(err)
	}
	var failed []uint64 // pages
	s, err := NewServer(l.session.files, Config{
		Store: l.store, Algorithm: l.algorithm(), Counters: c,
		Failed: func(_ telemetry.Op, page uint64, _ syscall.Errno) { failed = append(failed, page) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.data.finish(); err != nil {
		t.Fatal(err)
	}
	for n := range 2 { // other requests are not counted as those before them
		l.put(l.slot(n), request(3, uint64(14+2*n), dataNode, make([]byte, 16))) // GETATTR
	}
	if err := s.data.finish(); err != nil {
		t.Fatal(err)
	}
	o := c.Area.Operations()[telemetry.Write]
	if !slices.Equal(failed, []uint64{1}) {
		t.Errorf("pages %d have failed", failed)
	}
	if o.Requests != 2 || o.Pages != 2 || o.Errors != 1 || o.Bytes != 2*pageSize {
		t.Errorf("counted %+v", o)
	}
	if err := errors.Join(s.unmap(), c.Close()); err != nil {
		t.Error(err)
	}
}
