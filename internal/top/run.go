// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// Options say what is watched.
type Options struct {
	// Dirs names the devices; none for all.
	Dirs []string
	// Interval is the time between two looks.
	Interval time.Duration
	// UTF8 says that the terminal shows it.
	UTF8 bool
}

// Run shows devices on the terminal of the process until q is pressed or ctx ends, and then gives
// the terminal back as it was, also if it panics. Errors are those of the terminal.
func Run(ctx context.Context, o Options) error {
	s, err := openScreen(ctx)
	if err != nil {
		return err
	}
	return show(ctx, s, o, o.look)
}

// Once writes the first screen that has rates, of this size, as text.
func Once(w io.Writer, o Options, width, height int) error {
	m := newModel(o.UTF8)
	for i := range 2 {
		if i > 0 {
			time.Sleep(o.Interval)
		}
		l := o.look()
		if l.err != nil {
			return l.err
		}
		m.add(l)
	}
	_, err := io.WriteString(w, m.draw(width, height).String())
	return err
}

// look looks at the devices and at the processes with memory in swap.
func (o Options) look() (l look) {
	l.samples, l.err = monitor.Take(o.Dirs...)
	if l.err == nil && len(l.samples) == 0 {
		l.err = swapdev.ErrNotRunning
	}
	if l.err == nil {
		l.processes, l.err = host.Local.SwappedProcesses()
	}
	return l
}

// show draws on a screen what looks see, and obeys keys.
func show(ctx context.Context, s tcell.Screen, o Options, see func() look) error {
	defer s.Fini()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	events := make(chan tcell.Event)
	go s.ChannelEvents(events, ctx.Done())
	looks := make(chan look)
	go lookOften(ctx, o.Interval, see, looks)
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	m := newModel(o.UTF8)
	for {
		put(s, m.draw(s.Size()))
		select {
		case <-ctx.Done():
			return nil
		case l := <-looks:
			m.add(l)
		case now := <-clock.C: // a look may take longer
			if !m.paused {
				m.shown.now = now
			}
		case e, open := <-events:
			if quit, err := m.obey(s, e); quit || err != nil || !open {
				return err
			}
		}
	}
}

// obey obeys an event of the screen.
func (m *model) obey(s tcell.Screen, e tcell.Event) (quit bool, err error) {
	switch e := e.(type) {
	case *tcell.EventResize:
		s.Sync()
	case *tcell.EventKey:
		return m.key(runeOf(e)), nil
	case *tcell.EventError:
		return true, fmt.Errorf("read the terminal: %w", e)
	}
	return false, nil
}

// lookOften sends a look at each interval until ctx ends. A look that takes longer delays the next.
// It may be under way when ctx ends; the process does not wait for it.
func lookOften(ctx context.Context, interval time.Duration, see func() look, looks chan<- look) {
	timer := time.NewTicker(interval)
	defer timer.Stop()
	for {
		l := safely(see)
		select {
		case looks <- l:
		case <-ctx.Done():
			return
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
}

// safely makes a panic an error: this goroutine could not give the terminal back.
func safely(see func() look) (l look) {
	defer func() {
		if p := recover(); p != nil {
			l = look{err: errors.Join(l.err, fmt.Errorf("a look failed: %v", p))}
		}
	}()
	return see()
}
