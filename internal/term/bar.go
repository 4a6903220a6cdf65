// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A bar shows progress on a terminal, in one line that it draws again and again.
type bar struct {
	out         io.Writer
	width       int // of the terminal; 0 where it is unknown
	what        string
	done, total uint64
	unit        func(uint64) string // formats done and total; nil shows the share alone
	began       time.Time
	drawn       time.Time
	pause       time.Duration // shortest time between two drawings
}

const (
	barWidth  = 20
	clearLine = "\r\x1b[K" // ECMA-48: erase to the end of the line
)

// newBar returns a bar for total bytes of what.
func newBar(out io.Writer, what string, total uint64) *bar {
	return &bar{out: out, width: Width(), what: what, total: total, unit: Size, began: time.Now()}
}

// Show draws the bar with done of its total, unless it was drawn less than pause ago.
func (b *bar) Show(done uint64) error {
	b.done = min(done, b.total)
	now := time.Now()
	if now.Sub(b.drawn) < b.pause && b.done < b.total {
		return nil
	}
	b.drawn = now
	line := b.line(now.Sub(b.began))
	if b.width > 0 { // what goes on in the next line would stay there
		line = truncateTo(line, b.width-1)
	}
	_, err := io.WriteString(b.out, clearLine+line)
	return err
}

// line returns the text of the bar at a time after its beginning.
func (b *bar) line(after time.Duration) string {
	share := 1.0
	if b.total > 0 {
		share = float64(b.done) / float64(b.total)
	}
	filled := int(share * barWidth)
	line := fmt.Sprintf("%s %3d%% [%s%s]", b.what, int(share*100), strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled))
	if b.unit != nil {
		line += fmt.Sprintf(" %s of %s", b.unit(b.done), b.unit(b.total))
	}
	if b.done > 0 && b.done < b.total && after >= time.Second {
		left := time.Duration(float64(after) * (1 - share) / share)
		line += fmt.Sprintf(", %s to go", left.Round(time.Second))
	}
	return line
}

// End clears the line.
func (b *bar) End() error {
	_, err := io.WriteString(b.out, clearLine)
	return err
}
