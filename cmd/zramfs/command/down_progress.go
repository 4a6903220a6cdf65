// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"zramfs/loopsetup"
)

const (
	progressPause = 200 * time.Millisecond
	progressStep  = 10 // per cent between two lines where there is no terminal
)

// progress shows how many bytes have come back.
type progress interface {
	show(back uint64) error
	end() error
}

// showReturn shows the progress of a swapoff until it sends its outcome on done, and returns that. Output that nobody
// takes is an error of its own, but no reason to leave a swapoff alone.
func showReturn(out io.Writer, area loopsetup.Swap, done <-chan error) error {
	p := newProgress(out, area.Used)
	tick := time.NewTicker(progressPause)
	defer tick.Stop()
	var unseen error
	for {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			return errors.Join(unseen, p.end())
		case <-tick.C:
			// A table that cannot be read for once is no reason to stop watching.
			if used, err := usedNow(area.Path); err == nil && used < area.Used && unseen == nil {
				unseen = p.show(area.Used - used)
			}
		}
	}
}

func newProgress(out io.Writer, total uint64) progress {
	switch {
	case total == 0:
		return nothing{}
	case terminalWidth() > 0:
		return newBar(out, total)
	}
	return &lines{out: out, total: total}
}

// usedNow returns what is in the swap area at path; nothing when it is off.
func usedNow(path string) (uint64, error) {
	swaps, err := loopsetup.Swaps()
	if err != nil {
		return 0, err
	}
	for _, s := range swaps {
		if s.Path == path {
			return s.Used, nil
		}
	}
	return 0, nil
}

// nothing is the progress of a swap area that is empty.
type nothing struct{}

func (nothing) show(uint64) error { return nil }
func (nothing) end() error        { return nil }

// bar draws on a terminal.
type bar struct{ *progressbar.ProgressBar }

func newBar(out io.Writer, total uint64) *bar {
	return &bar{progressbar.NewOptions64(int64(total),
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription("swapoff"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionSetWidth(20),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}

func (b *bar) show(back uint64) error { return b.Set64(int64(back)) }
func (b *bar) end() error             { return b.Finish() }

// lines prints a line for every step.
type lines struct {
	out   io.Writer
	total uint64
	said  int // per cent
}

func (l *lines) show(back uint64) error {
	percent := int(float64(back) / float64(l.total) * 100)
	percent -= percent % progressStep
	if percent <= l.said || percent >= 100 {
		return nil
	}
	l.said = percent
	_, err := fmt.Fprintf(l.out, "swapoff  %d%%  %s of %s\n", percent, humanSize(back), humanSize(l.total))
	return err
}

func (l *lines) end() error { return nil }
