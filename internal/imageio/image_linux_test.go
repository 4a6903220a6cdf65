// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/store"
	"github.com/zramfs/zramfs/store/view"
)

// The CPU reads a page that was discarded when an engine got it and written again before the engine
// failed.
func TestPageComesBackWhileAnEngineFails(t *testing.T) {
	for _, op := range []bulk.Op{bulk.Verify, bulk.Decompress} {
		e := &troubled{do: errors.New("out of order")}
		l, w := troubledImage(t, e)
		if w == nil {
			return // under the race detector the image lies in no file
		}
		page := sample.Generate(1).Pages
		for n := range uint64(8) {
			if err := w.Write(n, 0, page); err != nil {
				t.Fatal(err)
			}
		}
		window := l.newWindow(op)
		if err := l.view.Look(window.Window, 0, 8); err != nil {
			t.Fatal(err)
		}
		w.Discard(3, 2)
		e.doing = func() {
			if err := w.Write(3, 0, page); err != nil {
				t.Error(err)
			}
		}
		if err := l.work(t.Context(), window); err != nil {
			t.Fatal(err)
		}
		for n, kind := range window.Kind {
			if want := map[bool]view.PageKind{true: view.PageEmpty, false: view.PageObject}[n == 4]; kind != want {
				t.Errorf("%s: page %d is of kind %d, want %d", op, n, kind, want)
			}
		}
	}
}

// A verification ends when it is interrupted: after the window that it was at.
func TestVerifyIsInterrupted(t *testing.T) {
	const window, windows = 4, 8
	for _, until := range []int{0, 1, 3} {
		l, w := troubledImage(t, &troubled{})
		if w == nil {
			return
		}
		l.runner = runnerOf(t, window)
		page := sample.Generate(1).Pages
		for n := range uint64(window * windows) {
			if err := w.Write(n, 0, page); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		shown := interruptingSteps{left: until, stop: stop}
		if until == 0 {
			stop()
		}
		r := VerifyReport{}
		if err := r.read(ctx, l, &shown); !errors.Is(err, context.Canceled) || r.Pages != uint64(until*window) || !shown.ended {
			t.Errorf("after %d windows: %d pages are verified: %v", until, r.Pages, err)
		}
		r = VerifyReport{}
		if err := r.read(t.Context(), l, &interruptingSteps{stop: func() {}}); err != nil || r.Pages != window*windows || r.Wrong != 0 {
			t.Errorf("%d pages are verified, %d wrong: %v", r.Pages, r.Wrong, err)
		}
	}
}

// interruptingSteps interrupt the work once it has shown some steps.
type interruptingSteps struct {
	left  int
	stop  func()
	ended bool
}

func (s *interruptingSteps) Add(uint64) error {
	if s.left--; s.left == 0 {
		s.stop()
	}
	return nil
}

func (s *interruptingSteps) End() error {
	s.ended = true
	return nil
}

// troubledImage returns the image of a store with an engine that fails, and the store's writer,
// which is nil if no file holds the image.
func troubledImage(t *testing.T, e *troubled) (*liveImage, *store.Worker) {
	t.Helper()
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	if memory.File() == nil {
		return nil, nil
	}
	a, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Create(memory, store.Config{Disksize: 1 << 20, Algorithm: a})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", memory.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	v, err := view.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	l, w := &liveImage{view: v, runner: runnerOf(t, 1<<40, e)}, s.Acquire()
	l.runner.planner.SetMode(bulk.EnginesAlone)
	t.Cleanup(func() {
		w.Release()
		if err := errors.Join(l.close(), s.Close(), memory.Close()); err != nil {
			t.Error(err)
		}
	})
	return l, w
}
