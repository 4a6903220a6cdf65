// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"io"
	"slices"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/loopsetup"
)

// showReturn shows the progress of a swapoff of these areas until done has its outcome, and returns
// that. If the progress cannot be written, it returns that error too, but still waits for swapoff.
func showReturn(out io.Writer, areas []loopsetup.Swap, done <-chan error) error {
	total := devices.UsedIn(areas)
	p := term.NewProgress(out, "swapoff", total)
	tick := time.NewTicker(term.ProgressPause)
	defer tick.Stop()
	var unseen error
	for {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			return errors.Join(unseen, p.End())
		case <-tick.C:
			// A failed read of the table does not end the progress.
			if used, err := usedNow(areas); err == nil && used < total && unseen == nil {
				unseen = p.Show(total - used)
			}
		}
	}
}

// usedNow returns the bytes used in the swap areas; an area that is off has none.
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
