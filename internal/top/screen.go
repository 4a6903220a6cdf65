// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"
)

// styles are the looks of the canvas's styles. They use the colours of the terminal's theme. With
// NO_COLOR set, tcell writes attributes alone.
var styles = [...]tcell.Style{
	plain:  tcell.StyleDefault,
	strong: tcell.StyleDefault.Bold(true),
	faint:  tcell.StyleDefault.Dim(true),
	good:   tcell.StyleDefault.Foreground(tcell.ColorGreen),
	warn:   tcell.StyleDefault.Foreground(tcell.ColorYellow).Bold(true),
	bad:    tcell.StyleDefault.Foreground(tcell.ColorRed).Bold(true),
	graph:  tcell.StyleDefault.Foreground(tcell.ColorTeal),
}

// endTime is how long the end may take: output to a terminal that is stopped waits for ever.
const endTime = 2 * time.Second

// openScreen takes the terminal of the process over until Fini gives it back, or until ctx has been
// over for endTime.
func openScreen(ctx context.Context) (tcell.Screen, error) {
	tcell.SetEncodingFallback(tcell.EncodingFallbackASCII) // for locales that it does not know
	s, err := takeScreen(ctx)
	if err != nil {
		return nil, fmt.Errorf("the terminal cannot show it (TERM, /dev/tty): %w", err)
	}
	return s, nil
}

func takeScreen(ctx context.Context) (tcell.Screen, error) {
	device, err := tcell.NewDevTty()
	if err != nil {
		return nil, err
	}
	tty := &terminal{Tty: device}
	s, err := tcell.NewTerminfoScreenFromTty(tty)
	if err == nil {
		err = s.Init()
	}
	if err != nil {
		return nil, err // with it the process ends
	}
	context.AfterFunc(ctx, func() { time.AfterFunc(endTime, func() { _ = tty.Stop() }) }) // a failure has no place to be shown
	return &screen{s, tty}, nil
}

// A terminal gives tcell what it reads for ever at bytes that are no text: it leaves out all but
// ASCII, which has every key that means something.
type terminal struct {
	tcell.Tty
	lock    sync.Mutex
	stopped bool
}

func (t *terminal) Read(p []byte) (int, error) {
	n, err := t.Tty.Read(p)
	return len(slices.DeleteFunc(p[:n], func(b byte) bool { return b >= utf8.RuneSelf })), err
}

// Drain ends what reads, and changes settings to that end.
func (t *terminal) Drain() error { return t.unlessStopped(t.Tty.Drain, false) }

// Stop restores the terminal's settings and ends what reads and writes there.
func (t *terminal) Stop() error { return t.unlessStopped(t.Tty.Stop, true) }

func (t *terminal) unlessStopped(act func() error, stops bool) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.stopped {
		return nil
	}
	t.stopped = stops
	return act()
}

// A screen is given back within endTime.
type screen struct {
	tcell.Screen
	tty *terminal
}

func (s *screen) Fini() {
	given := make(chan struct{})
	go func() {
		s.Screen.Fini()
		close(given)
	}()
	select {
	case <-given:
	case <-time.After(endTime):
		_ = s.tty.Stop() // a failure has no place to be shown
	}
}

// put copies the canvas to the screen, which writes the cells that have changed.
func put(s tcell.Screen, c *canvas) {
	for i, cell := range c.cells {
		if cell.r != 0 {
			s.SetContent(i%c.width, i/c.width, cell.r, nil, styles[cell.style])
		}
	}
	s.Show()
}

// runeOf returns the rune that stands for a key; 0 for keys without a meaning.
func runeOf(e *tcell.EventKey) rune {
	switch e.Key() {
	case tcell.KeyRune:
		return e.Rune()
	case tcell.KeyCtrlC:
		return 'q'
	case tcell.KeyEscape:
		return escape
	case tcell.KeyTab, tcell.KeyRight, tcell.KeyDown:
		return 'n'
	case tcell.KeyBacktab, tcell.KeyLeft, tcell.KeyUp:
		return 'b'
	}
	return 0
}
