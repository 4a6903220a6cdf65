// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/telemetry"
)

// keepCounters listens for a keeper whose counters have an event.
func keepCounters(t *testing.T, at int64) (dir string) {
	t.Helper()
	fd, err := unix.MemfdCreate("counters", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "counters")
	if err := f.Truncate(at + int64(telemetry.Size(2))); err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(fd, at, telemetry.Size(2), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	a, err := telemetry.Format(mem, 2)
	if err != nil {
		t.Fatal(err)
	}
	a.NoteEvent(time.Now(), telemetry.Started, 1, "ready")
	dir = t.TempDir()
	s, _, err := listenAt(socketDirs(), socketName(dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	go serve(s, refuse, Keeper{Dir: dir, Counters: func() (*os.File, int64) { return f, at }, Warn: func(string) {}}.attend)
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), f.Close(), unix.Munmap(mem)); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return dir
}

// Counters are mapped from where they begin, and cannot be changed.
func TestOpenCounters(t *testing.T) {
	c, err := OpenCounters(keepCounters(t, 3*4096))
	if err != nil {
		t.Fatal(err)
	}
	if all, _ := c.Area.Events(0); len(all) != 1 || all[0].Text != "ready" {
		t.Errorf("events %+v", all)
	}
	if err := unix.Mprotect(c.mem, unix.PROT_READ|unix.PROT_WRITE); !errors.Is(err, unix.EACCES) {
		t.Errorf("making them writable: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	empty, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{0, -4096, 4096} {
		if _, err := mapCounters(empty, at); !errors.Is(err, telemetry.ErrLayout) {
			t.Errorf("counters at %d of an empty file: %v", at, err)
		}
	}
	if err := empty.Close(); err != nil {
		t.Error(err)
	}
}

// A stopped keeper, whose socket takes connections, is waited for as long as the caller says.
func TestOpenCountersWithin(t *testing.T) {
	dir := t.TempDir()
	s, _, err := listenAt(socketDirs(), socketName(dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	began := time.Now()
	if _, err := OpenCountersWithin(time.Millisecond, dir); err == nil || !strings.Contains(err.Error(), "did not answer within 1ms") {
		t.Error(err)
	}
	if took := time.Since(began); took > answerTime/2 {
		t.Errorf("it waited for %v", took)
	}
}

// A command explains answers that it does not expect.
func TestOddCountersAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		"{}\n":                         "the counters were not sent",
		`{"error":"only root"}` + "\n": "only root",
		"":                             "does not answer",
	} {
		dir := t.TempDir()
		answerOnce(t, dir, []byte(answer), 0)
		if _, err := OpenCounters(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", answer, err, want)
		}
	}
}
