// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A bar shows on a terminal how far something is, in one line that it draws over and over. (It is
// our own because the library for it brings an HTTP client and TLS along: 4 MiB of code, which a
// serving process would have locked in memory.)
type bar struct {
	out         io.Writer
	what        string
	done, total uint64
	unit        func(uint64) string // nil for what only a share is shown of
	began       time.Time
	drawn       time.Time
	pause       time.Duration // between two drawings, at the least
}

const (
	barWidth  = 20
	clearLine = "\r\x1b[K" // ECMA-48: erase to the end of the line
)

// newBar shows bytes that come back from swap.
func newBar(out io.Writer, total uint64) *bar {
	return &bar{out: out, what: "swapoff", total: total, unit: humanSize, began: time.Now()}
}

// show draws the bar where so much is done.
func (b *bar) show(done uint64) error {
	b.done = min(done, b.total)
	now := time.Now()
	if now.Sub(b.drawn) < b.pause && b.done < b.total {
		return nil
	}
	b.drawn = now
	_, err := io.WriteString(b.out, clearLine+b.line(now.Sub(b.began)))
	return err
}

// line is what the bar looks like after so long.
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

// end takes the bar away.
func (b *bar) end() error {
	_, err := io.WriteString(b.out, clearLine)
	return err
}
