// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/zramfs/zramfs/internal/monitor"
)

// finite is a simulated screen that remembers its text, and whether it was given back.
type finite struct {
	tcell.SimulationScreen
	text  atomic.Value // string
	given atomic.Bool
}

func (f *finite) Show() {
	f.SimulationScreen.Show()
	f.text.Store(textOf(f.SimulationScreen))
}

func (f *finite) Fini() {
	f.given.Store(true)
	f.SimulationScreen.Fini()
}

// start shows looks on a simulated screen of 80x24.
func start(t *testing.T, ctx context.Context, see func() look) (*finite, chan error) {
	t.Helper()
	s := &finite{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}
	if err := s.Init(); err != nil {
		t.Fatal(err)
	}
	s.SetSize(80, 24)
	done := make(chan error, 1)
	go func() { done <- show(ctx, s, Options{Interval: 20 * time.Millisecond, UTF8: true}, see) }()
	return s, done
}

// shown is the text on the screen.
func shown(f *finite) string {
	text, _ := f.text.Load().(string)
	return text
}

// textOf is the text on a simulated screen.
func textOf(s tcell.SimulationScreen) string {
	cells, width, _ := s.GetContents()
	var out strings.Builder
	for i, c := range cells {
		if i > 0 && i%width == 0 {
			out.WriteByte('\n')
		}
		out.WriteString(string(c.Runes))
	}
	return out.String()
}

// within waits until something holds.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in 10 seconds: " + what)
		}
	}
}

// ended waits for the end, and wants the screen given back.
func ended(t *testing.T, s *finite, done chan error) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil || !s.given.Load() {
			t.Errorf("%v, screen given back: %v", err, s.given.Load())
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
}

// It shows what looks see, follows the size of the terminal and the keys, and q ends it.
func TestShow(t *testing.T) {
	var n atomic.Int32
	s, done := start(t, t.Context(), func() look {
		return look{samples: []monitor.Sample{busy("/run/zram", int(n.Add(1)))}, processes: swapped}
	})
	within(t, "the device", func() bool { return strings.Contains(shown(s), "pages/s  p50") })
	s.SetSize(40, 12)
	_ = s.PostEvent(tcell.NewEventResize(40, 12))
	within(t, "the smaller screen", func() bool { return !strings.Contains(shown(s), "firefox") && strings.Contains(shown(s), "of 4G") })
	s.InjectKey(tcell.KeyRune, 'w', tcell.ModNone)
	within(t, "processes", func() bool { return strings.Contains(shown(s), "firefox") })
	s.InjectKey(tcell.KeyEscape, 0, tcell.ModNone)
	within(t, "no processes", func() bool { return !strings.Contains(shown(s), "firefox") })
	s.InjectKey(tcell.KeyRune, 'q', tcell.ModNone)
	ended(t, s, done)
}

// Keys and the end wait for no look: a device may not answer.
func TestShowWhileALookHangs(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	hang := func() look { <-forever; return look{} }
	s, done := start(t, t.Context(), hang)
	within(t, "the first screen", func() bool { return strings.Contains(shown(s), "looking for devices") })
	s.InjectKey(tcell.KeyRune, '?', tcell.ModNone)
	within(t, "help", func() bool { return strings.Contains(shown(s), "the next device") })
	s.InjectKey(tcell.KeyCtrlC, 0, tcell.ModCtrl)
	ended(t, s, done)
	ctx, stop := context.WithCancel(t.Context()) // as a signal does
	s, done = start(t, ctx, hang)
	stop()
	ended(t, s, done)
}

// A panic gives the terminal back before it ends the program; one of a look is shown.
func TestShowPanics(t *testing.T) {
	s, done := start(t, t.Context(), func() look { panic("cause") })
	within(t, "the panic of a look", func() bool { return strings.Contains(shown(s), "a look failed: cause") })
	s.InjectKey(tcell.KeyRune, 'q', tcell.ModNone)
	ended(t, s, done)

	s = &finite{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}
	if err := s.Init(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p := recover(); p == nil || !s.given.Load() {
			t.Errorf("panic %v, screen given back: %v", p, s.given.Load())
		}
	}()
	var never context.Context // its use panics
	_ = show(never, s, Options{Interval: time.Second}, func() look { return look{} })
}
