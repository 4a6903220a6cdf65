// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"io"
	"time"
)

// ProgressPause is the shortest time between two drawings of progress.
const ProgressPause = 200 * time.Millisecond

// linePercent is the progress between two lines where standard output is not a terminal.
const linePercent = 10

// Progress shows how far an operation is. It is used by one goroutine.
type Progress interface {
	// Show shows that done bytes of the total are done.
	Show(done uint64) error
	// End removes the progress from the screen.
	End() error
}

// NewProgress shows the progress of what, which moves total bytes: by a bar on out where standard
// output is a terminal, by a line at each tenth elsewhere. For a total of 0 it shows nothing.
func NewProgress(out io.Writer, what string, total uint64) Progress {
	switch {
	case total == 0:
		return nothing{}
	case Width() > 0:
		return newBar(Raw(out), what, total)
	}
	return &lines{out: out, what: what, total: total}
}

// lines prints a line for every linePercent.
type lines struct {
	out     io.Writer
	what    string
	total   uint64
	printed int // per cent
}

func (l *lines) Show(done uint64) error {
	percent := int(float64(done) / float64(l.total) * 100)
	percent -= percent % linePercent
	if percent <= l.printed || percent >= 100 {
		return nil
	}
	l.printed = percent
	_, err := fmt.Fprintf(l.out, "%s  %d%%  %s of %s\n", l.what, percent, Size(done), Size(l.total))
	return err
}

func (l *lines) End() error { return nil }

// Steps shows the progress of work that is done in steps. It is used by one goroutine.
type Steps interface {
	// Add shows that n more steps are done.
	Add(n uint64) error
	// End removes the progress from the screen.
	End() error
}

// NewSteps shows the progress of what, which takes total steps, if out is a terminal, and nothing
// elsewhere.
func NewSteps(out io.Writer, what string, total int64) Steps {
	width := WidthOf(out)
	if width == 0 || total <= 0 {
		return nothing{}
	}
	return stepBar{&bar{out: Raw(out), width: width, what: what, total: uint64(total), began: time.Now(), pause: ProgressPause}}
}

// stepBar is a bar that counts steps.
type stepBar struct{ *bar }

func (s stepBar) Add(n uint64) error { return s.Show(s.done + n) }

// nothing shows no progress.
type nothing struct{}

func (nothing) Show(uint64) error { return nil }
func (nothing) Add(uint64) error  { return nil }
func (nothing) End() error        { return nil }
