// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/zramfs/zramfs/internal/notify"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/loopsetup"
)

// patience is how long a service manager may wait for the next page that comes back.
const patience = time.Minute

// showReturn shows the progress of a swapoff of these areas until done has its outcome, and returns
// that. If the progress cannot be written, it returns that error too, but still waits for swapoff.
// As long as pages come back, a service manager has patience.
func showReturn(out io.Writer, areas []loopsetup.Swap, done <-chan error) error {
	total := UsedIn(areas)
	p := term.NewProgress(out, "swapoff", total)
	tick := time.NewTicker(term.ProgressPause)
	defer tick.Stop()
	least := total
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
			used, err := usedNow(areas)
			if err == nil && used < total && unseen == nil {
				unseen = p.Show(total - used)
			}
			if err == nil && used < least {
				least = used
				// A manager that cannot be told ends the wait early, and swap stays on.
				_ = notify.Extend(patience, fmt.Sprintf("turning swap off: %s of %s to come", term.Size(used), term.Size(total)))
			}
		}
	}
}

// usedNow returns the bytes used in the swap areas; an area that is off has none. Of hidden ones it
// is the most that they may use.
func usedNow(areas []loopsetup.Swap) (uint64, error) {
	swaps, err := loopsetup.Swaps()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var used uint64
	if slices.ContainsFunc(areas, func(a loopsetup.Swap) bool { return a.Hidden }) {
		_, used = loopsetup.Hidden(swaps)
	}
	for _, s := range swaps {
		if slices.ContainsFunc(areas, func(a loopsetup.Swap) bool { return a.Path == s.Path }) {
			used += s.Used
		}
	}
	return used, nil
}
