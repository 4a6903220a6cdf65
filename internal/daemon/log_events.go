// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/telemetry"
)

const (
	// failedQueue is the number of failed requests that may wait to become events; those beyond it
	// are only counted, by the store.
	failedQueue = 8
	// failWindow is how long requests that fail alike are one event.
	failWindow = time.Minute
)

// NoteTo sets the function that takes the events which log lines stand for; nil for none. Once
// NoteTo has returned, no call of the function before is under way or follows.
func (l *Logs) NoteTo(note func(telemetry.Kind, string)) {
	l.noting.Lock()
	defer l.noting.Unlock()
	l.noted = note
}

// note passes an event on.
func (l *Logs) note(kind telemetry.Kind, text string) {
	l.noting.RLock()
	defer l.noting.RUnlock()
	if l.noted != nil {
		l.noted(kind, text)
	}
}

// A failure is a request that ended in an error.
type failure struct {
	op    telemetry.Op
	page  uint64
	errno syscall.Errno
}

// Failed reports a request that ended in an error: the first of a kind in a failWindow becomes an
// event. It allocates nothing and never waits, so the page path may call it.
func (l *Logs) Failed(op telemetry.Op, page uint64, errno syscall.Errno) {
	select {
	case l.failed <- failure{op, page, errno}:
	default:
	}
}

// failed makes an event of a request that failed, unless there was one of its kind just before.
func (w *logWriter) failed(f failure, now time.Time) {
	kind := failure{op: f.op, errno: f.errno}
	if last, ok := w.failedAt[kind]; ok && now.Sub(last) < failWindow {
		return
	}
	w.failedAt[kind] = now
	w.logs.note(telemetry.Failed, fmt.Sprintf("%s of page %d: %v", f.op, f.page, f.errno))
}
