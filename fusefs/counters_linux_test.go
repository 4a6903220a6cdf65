// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/telemetry"
)

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
