// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gatedSink is a sink that takes nothing until its gate is closed.
type gatedSink struct {
	gate  chan struct{}
	plain bool

	mu    sync.Mutex
	lines []string // guarded by mu
}

func (s *gatedSink) write(level slog.Level, text []byte) error {
	<-s.gate
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, level.String()+" "+string(text))
	return nil
}

func (s *gatedSink) stamped() bool { return !s.plain }
func (s *gatedSink) Close() error  { return nil }

func (s *gatedSink) text() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

func contains(lines []string, part string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, part) })
}

// TestLogNeverBlocks fills the queue behind a sink that takes nothing. Were there any waiting, it
// would never end.
func TestLogNeverBlocks(t *testing.T) {
	sink := &gatedSink{gate: make(chan struct{})}
	logs := newLogs(sink)
	log := logs.Logger()
	const lines = 10 * logQueue
	for i := range lines {
		log.Info("line", "number", i)
		logs.Corrupt(uint64(i))
	}
	// One line and one page may be in the hands of the goroutine.
	if n := logs.Dropped(); n < lines-logQueue-1 || n >= lines {
		t.Errorf("%d of %d lines dropped, the queue has %d", n, lines, logQueue)
	}
	if n := logs.corruptDropped.Load(); n < lines-corruptQueue-1 {
		t.Errorf("%d page numbers dropped", n)
	}
	close(sink.gate)
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
	got := sink.text()
	for _, want := range []string{"INFO line number=0", "log lines were dropped", "more reads failed their checksum"} {
		if !contains(got, want) {
			t.Errorf("no line with %q", want)
		}
	}
	if n := strings.Count(strings.Join(got, "\n"), "log lines were dropped"); n != 1 {
		t.Errorf("the loss is told %d times", n)
	}
}

// TestLogCloseIsBounded wants the end of a process not to wait for a sink that has stopped.
func TestLogCloseIsBounded(t *testing.T) {
	sink := &gatedSink{gate: make(chan struct{})}
	logs := newLogs(sink)
	defer close(sink.gate)
	logs.Logger().Info("line")
	if err := logs.Close(); err == nil {
		t.Error("closing a stuck log succeeded")
	}
}

// TestCorruptLines wants the first pages by number and the rest as a sum.
func TestCorruptLines(t *testing.T) {
	sink := &gatedSink{gate: make(chan struct{})}
	logs := newLogs(sink)
	const pages = corruptBurst + 5
	for page := range uint64(pages) {
		logs.Corrupt(page)
	}
	close(sink.gate)
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
	got := sink.text()
	if len(got) != corruptBurst+1 || !strings.HasPrefix(got[0], "ERROR page 0 is damaged") ||
		!strings.Contains(got[corruptBurst], "5 more reads failed") {
		t.Errorf("lines:\n%s", strings.Join(got, "\n"))
	}
}

// TestCorruptLinesHeldBack wants the sum a minute later where the device goes on, and once more a
// minute after the next.
func TestCorruptLinesHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &gatedSink{gate: make(chan struct{})}
		close(sink.gate)
		logs := newLogs(sink)
		for times := 1; times <= 2; times++ {
			for page := range uint64(corruptBurst + 4) {
				logs.Corrupt(page)
			}
			time.Sleep(corruptWindow / 2)
			logs.Corrupt(0) // puts nothing off
			time.Sleep(corruptWindow/2 + time.Second)
			got := sink.text()
			if len(got) != times*(corruptBurst+1) || !strings.Contains(got[len(got)-1], "5 more reads failed") {
				t.Errorf("%d. lines:\n%s", times, strings.Join(got, "\n"))
			}
		}
		if err := logs.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestLimiter(t *testing.T) {
	l := limiter{burst: 2, window: time.Minute}
	at := time.Unix(1000, 0)
	for i, want := range []bool{true, true, false, false} {
		if l.allow(at) != want {
			t.Errorf("event %d: allowed %v", i, !want)
		}
	}
	if !l.allow(at.Add(time.Minute)) {
		t.Error("not allowed in the next window")
	}
	if n := l.take(); n != 2 {
		t.Errorf("%d held back, want 2", n)
	}
	if n := l.take(); n != 0 {
		t.Errorf("%d held back after they were taken", n)
	}
}

// TestLogShape wants time and level where the sink has none of its own, and only there.
func TestLogShape(t *testing.T) {
	for _, plain := range []bool{true, false} {
		sink := &gatedSink{gate: make(chan struct{}), plain: plain}
		close(sink.gate)
		logs := newLogs(sink)
		logs.Logger().With("dir", "/run/zram").WithGroup("g").Warn("two words", "n", 1, "err", errors.New("x y"))
		logs.Corrupt(9)
		if err := logs.Close(); err != nil {
			t.Fatal(err)
		}
		want := []string{`WARN two words dir=/run/zram g.n=1 g.err="x y"`, "ERROR page 9 is damaged"}
		if plain {
			want = []string{`level=WARN msg="two words" dir=/run/zram g.n=1 g.err="x y"`, `level=ERROR msg="page 9 is damaged`}
		}
		for _, w := range want {
			if !contains(sink.text(), w) {
				t.Errorf("plain %v: no %q in %q", plain, w, sink.text())
			}
		}
		if !plain && contains(sink.text(), "time=") {
			t.Errorf("a stamped line has a time: %q", sink.text())
		}
	}
}

// TestLogFilled wants a line for each note about the memory limit, and no wait where they find no
// room.
func TestLogFilled(t *testing.T) {
	sink := &gatedSink{gate: make(chan struct{})}
	logs := newLogs(sink)
	for range 2 * filledQueue {
		logs.Filled(90)
	}
	if logs.Dropped() == 0 {
		t.Errorf("%d notes found room, the queue has %d", 2*filledQueue, filledQueue)
	}
	close(sink.gate)
	for logs.Filled(100); !contains(sink.text(), "100 %"); time.Sleep(time.Millisecond) {
		logs.Filled(100)
	}
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"WARN 90 % of the memory limit are in use", "WARN 100 % of the memory limit are in use: writes"} {
		if !contains(sink.text(), want) {
			t.Errorf("no line with %q in %q", want, sink.text())
		}
	}
}

// A note says how many lines were lost since the last one, and pages are held back once many are
// damaged.
func TestLogNotes(t *testing.T) {
	sink := &gatedSink{gate: make(chan struct{})}
	close(sink.gate)
	l := &Logs{sink: sink}
	w := newLogWriter(l)
	for _, lost := range []uint64{2, 3} {
		l.dropped.Add(lost)
		w.write(slog.LevelInfo, []byte("line"))
		if want := fmt.Sprintf("WARN %d log lines were dropped", lost); !contains(sink.text(), want) {
			t.Errorf("no note %q in %q", want, sink.text())
		}
	}
	for page := range uint64(corruptBurst + 1) {
		if held := w.damaged(damage{page: page}, time.Unix(1000, 0)); held != (page == corruptBurst) {
			t.Errorf("page %d is held back: %v", page, held)
		}
	}
}
