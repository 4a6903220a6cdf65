// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/internal/telemetry"
)

const (
	// logQueue is the number of lines that may wait for the sink. A line is some hundred bytes.
	logQueue = 256
	// corruptQueue is the number of damaged pages whose numbers may wait to be logged.
	corruptQueue = 64
	// filledQueue is the number of notes about the memory limit that may wait.
	filledQueue = 8
	// corruptBurst lines about damaged pages are written in a corruptWindow; the rest of them is
	// only counted.
	corruptBurst  = 10
	corruptWindow = time.Minute
	// filledWindow is the least time between two lines about the same level of the memory limit.
	filledWindow = time.Minute
	// closeTimeout bounds the wait for the sink at the end.
	closeTimeout = time.Second
)

// sink is where lines go. A write may block; only the one goroutine of Logs calls it.
type sink interface {
	// write takes one line without its end.
	write(level slog.Level, line []byte) error
	// stamped says whether the sink adds time and level itself.
	stamped() bool
	Close() error
}

// Logs carries log lines to stderr, the journal or the kernel log without ever making the caller
// wait: lines pass through a bounded queue to one goroutine, and those that find it full are
// dropped and counted. Its methods are safe for concurrent use.
type Logs struct {
	lines   chan line     // immutable
	corrupt chan damage   // immutable
	filled  chan int      // immutable; per cent of the memory limit
	failed  chan failure  // immutable; requests that ended in errors
	stop    chan struct{} // immutable; closed by Close
	done    chan struct{} // immutable; closed when the goroutine has ended
	sink    sink          // immutable; used by the goroutine
	closing sync.Once     // guards stop

	dropped        atomic.Uint64 // lines that found no room
	corruptDropped atomic.Uint64 // page numbers that found no room

	noting sync.RWMutex
	noted  func(telemetry.Kind, string) // see NoteTo; guarded by noting
}

// damage is a damaged page.
type damage struct {
	page        uint64
	overwritten bool // on the backing device
}

type line struct {
	level slog.Level
	text  []byte
}

// OpenLogs opens the first sink that works: stderr when the process is in the foreground, else the
// journal, else the kernel log, else stderr. dir names the device in the lines.
func OpenLogs(foreground bool, dir string) *Logs {
	return newLogs(openSink(foreground, dir))
}

// openLogs is OpenLogs for a device.
func openLogs(cfg Config) (l *Logs) {
	err := cfg.Namespace.Do(func() error {
		l = OpenLogs(cfg.Foreground, cfg.Dir)
		return nil
	})
	if err != nil { // the namespace cannot be entered
		l = OpenLogs(true, cfg.Dir)
	}
	return l
}

func newLogs(s sink) *Logs {
	l := &Logs{
		lines:   make(chan line, logQueue),
		corrupt: make(chan damage, corruptQueue),
		filled:  make(chan int, filledQueue),
		failed:  make(chan failure, failedQueue),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		sink:    s,
	}
	go l.run()
	return l
}

// Logger returns a logger on the queue.
func (l *Logs) Logger() *slog.Logger {
	h := &queueHandler{logs: l, scratch: &scratch{}}
	h.inner = slog.NewTextHandler(&h.scratch.buf, h.options())
	return slog.New(h)
}

// Corrupt reports that a stored page failed its checksum. It allocates nothing and never waits, so
// the page path may call it. Repeated lines are limited to corruptBurst in a corruptWindow; all are
// counted.
func (l *Logs) Corrupt(page uint64) { l.damaged(damage{page: page}) }

// Overwritten is Corrupt for a page whose block of the backing device is not what was written.
func (l *Logs) Overwritten(page uint64) { l.damaged(damage{page: page, overwritten: true}) }

func (l *Logs) damaged(d damage) {
	select {
	case l.corrupt <- d:
	default:
		l.corruptDropped.Add(1)
	}
}

// Filled reports the use of the memory limit in per cent. It allocates nothing and never waits, so
// the store's maintainer may call it.
func (l *Logs) Filled(percent int) {
	select {
	case l.filled <- percent:
	default:
		l.dropped.Add(1)
	}
}

// Dropped returns the number of lines that were dropped because the queue was full.
func (l *Logs) Dropped() uint64 { return l.dropped.Load() }

// Close writes what is queued, waits for that at most closeTimeout, and closes the sink. Lines
// after it are dropped.
func (l *Logs) Close() error {
	l.closing.Do(func() { close(l.stop) })
	select {
	case <-l.done:
		return l.sink.Close()
	case <-time.After(closeTimeout):
		return fmt.Errorf("close log: still writing after %s", closeTimeout)
	}
}

func (l *Logs) enqueue(level slog.Level, text []byte) {
	select {
	case l.lines <- line{level, text}:
	default:
		l.dropped.Add(1)
	}
}

// run is the goroutine that writes.
func (l *Logs) run() {
	defer close(l.done)
	w := newLogWriter(l)
	idle := time.NewTimer(corruptWindow)
	idle.Stop()
	armed := false
	for {
		select {
		case ln := <-l.lines:
			w.write(ln.level, ln.text)
		case d := <-l.corrupt:
			if w.damaged(d, time.Now()) && !armed {
				armed = true
				idle.Reset(corruptWindow)
			}
		case percent := <-l.filled:
			w.filled(percent, time.Now())
		case f := <-l.failed:
			w.failed(f, time.Now())
		case <-idle.C:
			armed = false
			w.sayHeldBack(l.corruptDropped.Swap(0))
		case <-l.stop:
			w.drain()
			return
		}
	}
}

// logWriter is the state of the writing goroutine.
type logWriter struct {
	logs         *Logs
	limit        limiter
	reportedLost uint64                // the value of Logs.dropped that was said last
	failedAt     map[failure]time.Time // the last event, by kind and error
	filledAt     map[int]time.Time     // the last line about the memory limit, by per cent
}

func (w *logWriter) write(level slog.Level, text []byte) {
	if w.logs.sink.write(level, text) != nil {
		w.logs.dropped.Add(1)
		return
	}
	lost := w.logs.dropped.Load()
	if lost == w.reportedLost {
		return
	}
	note := fmt.Appendf(nil, "%d log lines were dropped since the last such note", lost-w.reportedLost)
	if w.logs.sink.write(slog.LevelWarn, w.dress(slog.LevelWarn, note)) == nil {
		w.reportedLost = lost
	}
}

// damaged writes a line about a damaged page, or counts it where there were too many. It says
// whether something is held back.
func (w *logWriter) damaged(d damage, now time.Time) bool {
	if w.limit.allow(now) {
		text := fmt.Appendf(nil, "page %d is damaged: reading it ends in an I/O error", d.page)
		if d.overwritten {
			text = append(text, "; its block of the backing device is not what was written there: something else writes to that device, or it fails"...)
		}
		w.logs.note(telemetry.Damaged, string(text))
		w.write(slog.LevelError, w.dress(slog.LevelError, text))
	}
	return w.limit.held > 0
}

func newLogWriter(l *Logs) logWriter {
	return logWriter{
		logs: l, limit: limiter{burst: corruptBurst, window: corruptWindow}, failedAt: map[failure]time.Time{}, filledAt: map[int]time.Time{},
	}
}

// filled writes a line about the memory limit, unless there was one about the same level just
// before: others would be pushed out of the events.
func (w *logWriter) filled(percent int, now time.Time) {
	if last, ok := w.filledAt[percent]; ok && now.Sub(last) < filledWindow {
		return
	}
	w.filledAt[percent] = now
	text := fmt.Appendf(nil, "%d %% of the memory limit are in use", percent)
	if percent >= 100 {
		text = append(text, ": writes that need memory fail with ENOSPC until pages are freed, and the kernel keeps those pages in memory"...)
	}
	w.logs.note(telemetry.Limit, string(text))
	w.write(slog.LevelWarn, w.dress(slog.LevelWarn, text))
}

// sayHeldBack writes how many damaged pages were only counted.
func (w *logWriter) sayHeldBack(lost uint64) {
	n := w.limit.take() + lost
	if n > 0 {
		text := fmt.Appendf(nil, "%d more reads failed their checksum", n)
		w.logs.note(telemetry.Damaged, string(text))
		w.write(slog.LevelError, w.dress(slog.LevelError, text))
	}
}

func (w *logWriter) drain() {
	for {
		select {
		case ln := <-w.logs.lines:
			w.write(ln.level, ln.text)
		case d := <-w.logs.corrupt:
			w.damaged(d, time.Now())
		case percent := <-w.logs.filled:
			w.filled(percent, time.Now())
		case f := <-w.logs.failed:
			w.failed(f, time.Now())
		default:
			w.sayHeldBack(w.logs.corruptDropped.Swap(0))
			return
		}
	}
}

// dress gives a line of our own the shape that lines of the logger have.
func (w *logWriter) dress(level slog.Level, text []byte) []byte {
	if w.logs.sink.stamped() {
		return text
	}
	var buf bytes.Buffer
	r := slog.NewRecord(time.Now(), level, string(text), 0)
	if err := slog.NewTextHandler(&buf, nil).Handle(context.Background(), r); err != nil {
		return text
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// limiter lets burst events pass in each window and counts the others.
type limiter struct {
	burst  int
	window time.Duration
	start  time.Time // of the present window
	passed int       // in the present window
	held   uint64    // not passed since the last take
}

func (l *limiter) allow(now time.Time) bool {
	if now.Sub(l.start) >= l.window {
		l.start, l.passed = now, 0
	}
	if l.passed >= l.burst {
		l.held++
		return false
	}
	l.passed++
	return true
}

func (l *limiter) take() uint64 {
	n := l.held
	l.held = 0
	return n
}

// queueHandler is a slog.Handler that formats in the caller and leaves the writing to the queue.
type queueHandler struct {
	logs    *Logs
	inner   slog.Handler // writes to scratch.buf
	scratch *scratch     // shared by the handlers that were derived from one
}

type scratch struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (h *queueHandler) options() *slog.HandlerOptions {
	if !h.logs.sink.stamped() {
		return nil
	}
	return &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return a
	}}
}

// Enabled leaves out what is below the level Info.
func (h *queueHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// Handle formats r and queues it.
func (h *queueHandler) Handle(ctx context.Context, r slog.Record) error {
	h.scratch.mu.Lock()
	defer h.scratch.mu.Unlock()
	h.scratch.buf.Reset()
	if h.logs.sink.stamped() {
		h.scratch.buf.WriteString(r.Message)
		h.scratch.buf.WriteByte(' ')
	}
	if err := h.inner.Handle(ctx, r); err != nil {
		return fmt.Errorf("format log line: %w", err)
	}
	h.logs.enqueue(r.Level, bytes.Clone(bytes.TrimSpace(h.scratch.buf.Bytes())))
	return nil
}

// WithAttrs returns a handler that adds attrs to each line.
func (h *queueHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &queueHandler{logs: h.logs, inner: h.inner.WithAttrs(attrs), scratch: h.scratch}
}

// WithGroup returns a handler that puts later attributes into a group.
func (h *queueHandler) WithGroup(name string) slog.Handler {
	return &queueHandler{logs: h.logs, inner: h.inner.WithGroup(name), scratch: h.scratch}
}

// stderrSink writes plain lines to the standard error of a process in the foreground.
type stderrSink struct{}

func (stderrSink) write(_ slog.Level, text []byte) error {
	_, err := os.Stderr.Write(append(text, '\n'))
	return err
}

func (stderrSink) stamped() bool { return false }

func (stderrSink) Close() error { return nil }
