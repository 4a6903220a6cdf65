// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/zramfs/zramfs/loopsetup"
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

// showReturn shows the progress of a swapoff of these areas together until it sends its outcome on
// done, and returns that. Output that nobody takes is an error of its own, but no reason to leave a
// swapoff alone.
func showReturn(out io.Writer, areas []loopsetup.Swap, done <-chan error) error {
	total := usedIn(areas)
	p := newProgress(out, total)
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
			if used, err := usedNow(areas); err == nil && used < total && unseen == nil {
				unseen = p.show(total - used)
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

// usedNow returns what is in the swap areas; one that is off has nothing.
func usedNow(areas []loopsetup.Swap) (uint64, error) {
	swaps, err := loopsetup.Swaps()
	if err != nil {
		return 0, err
	}
	var used uint64
	for _, s := range swaps {
		if slices.ContainsFunc(areas, func(a loopsetup.Swap) bool { return a.Path == s.Path }) {
			used += s.Used
		}
	}
	return used, nil
}

// usedIn returns what was in the areas when they were looked at.
func usedIn(areas []loopsetup.Swap) uint64 {
	var used uint64
	for _, a := range areas {
		used += a.Used
	}
	return used
}

// nothing is the progress of a swap area that is empty.
type nothing struct{}

func (nothing) show(uint64) error { return nil }
func (nothing) end() error        { return nil }

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
