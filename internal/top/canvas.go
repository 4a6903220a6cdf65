// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strings"
	"unicode"

	"github.com/zramfs/zramfs/internal/term"
)

// A style is what a piece of text means; the screen gives it its colour.
type style uint8

const (
	plain  style = iota
	strong       // names and headings
	faint        // labels and hints
	good         // a healthy state, a bar with room
	warn         // needs a look
	bad          // needs an action
	graph        // bars and graphs of figures that are neither good nor bad
)

// A cell is one character of the canvas. The second column of a wide character has the rune 0.
type cell struct {
	r     rune
	style style
}

// A canvas is a screen in memory. It is used by one goroutine.
type canvas struct {
	width, height int
	cells         []cell
}

func newCanvas(width, height int) *canvas {
	c := &canvas{width: max(width, 0), height: max(height, 0)}
	c.cells = make([]cell, c.width*c.height)
	for i := range c.cells {
		c.cells[i].r = ' '
	}
	return c
}

// text writes text from a column on, up to the end of the row, and returns the column behind it.
// Characters that would move the cursor become question marks.
func (c *canvas) text(x, y int, s style, text string) int {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			r = '?'
		}
		wide := term.RuneWidth(r)
		if wide == 0 || y < 0 || y >= c.height || x < 0 || x+wide > c.width {
			continue
		}
		c.cells[y*c.width+x] = cell{r, s}
		if wide == 2 {
			c.cells[y*c.width+x+1] = cell{0, s}
		}
		x += wide
	}
	return x
}

// line returns the text of a row without blanks at its end.
func (c *canvas) line(y int) string {
	var out strings.Builder
	for _, cell := range c.cells[y*c.width : (y+1)*c.width] {
		if cell.r != 0 {
			out.WriteRune(cell.r)
		}
	}
	return strings.TrimRight(out.String(), " ")
}

// String returns the rows as lines, without empty ones at the end.
func (c *canvas) String() string {
	var out strings.Builder
	for y := range c.height {
		out.WriteString(c.line(y) + "\n")
	}
	if text := strings.TrimRight(out.String(), "\n"); text != "" {
		return text + "\n"
	}
	return ""
}
