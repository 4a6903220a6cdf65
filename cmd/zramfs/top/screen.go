// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"

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

// openScreen takes the terminal of the process over. Fini gives it back.
func openScreen() (tcell.Screen, error) {
	tcell.SetEncodingFallback(tcell.EncodingFallbackASCII) // for locales that it does not know
	s, err := tcell.NewScreen()
	if err == nil {
		err = s.Init()
	}
	if err != nil {
		return nil, fmt.Errorf("the terminal cannot show it (TERM, /dev/tty): %w", err)
	}
	return s, nil
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
