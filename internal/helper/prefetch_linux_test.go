// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/prefetch"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/term"
)

// shownSteps adds up the progress.
type shownSteps struct {
	total, done uint64
	ended       bool
}

func (s *shownSteps) Add(n uint64) error { s.done += n; return nil }
func (s *shownSteps) End() error         { s.ended = true; return nil }

// The other process has the options and returns the report, and its progress is shown here.
func TestPrefetch(t *testing.T) {
	require.Root(t)
	var steps shownSteps
	o := prefetch.Options{PIDs: []int{os.Getpid(), 1 << 30}, Limit: 1 << 20}
	o.Progress = func(pages int64) term.Steps { steps.total = uint64(pages); return &steps }
	r, err := Prefetch(t.Context(), time.Minute, o)
	if err != nil || !slices.Equal(r.Skipped, []prefetch.Count{{Reason: prefetch.Ended, Number: 1}}) {
		t.Errorf("%+v, %v; want one skipped", r, err)
	}
	if steps.total != r.Found || steps.done != r.Asked || !steps.ended {
		t.Errorf("%+v is shown of %+v", steps, r)
	}
	o.Named = true
	if _, err := Prefetch(t.Context(), time.Minute, o); err == nil || err.Error() != "there is no process 1073741824" {
		t.Errorf("an error of the other process: %v", err)
	}
}

// long is a prefetch that takes a minute.
func long() prefetch.Options {
	return prefetch.Options{PIDs: slices.Repeat([]int{os.Getpid()}, 1<<20), DryRun: true}
}

// An interrupted prefetch reports; one that does not answer is left.
func TestInterruptedPrefetch(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	reports := make(chan error, 1)
	go func() {
		_, err := Prefetch(ctx, time.Minute, long())
		reports <- err
	}()
	first := started(t, 0)
	end()
	if err := <-reports; err != nil {
		t.Errorf("no report: %v", err)
	}

	ctx, end = context.WithCancel(t.Context())
	defer end()
	go func() {
		_, err := Prefetch(ctx, 50*time.Millisecond, long())
		reports <- err
	}()
	if err := syscall.Kill(started(t, first), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	end()
	if err := <-reports; !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v, want %v", err, ErrNoAnswer)
	}
}

// started waits for the process of a call, other than this one, and returns its number.
func started(t *testing.T, other int) int {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, p := range host.Local.ProcessesNamed("zramfs-aside") {
			if p.Parent == os.Getpid() && p.PID != other {
				return p.PID
			}
		}
	}
	t.Fatal("no process was started")
	return 0
}
