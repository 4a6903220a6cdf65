// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// inherit waits for the order after an order.Heir. Where the keeper dies before it gives one, that
// is the order to serve, once the worker before this one has ended: it was told to stop, or serves
// on and this process is its spare.
func (w *worker) inherit(o keeperMsg) (keeperMsg, error) {
	before, err := unix.PidfdOpen(o.Follows, 0)
	gone := errors.Is(err, unix.ESRCH)
	if err == nil {
		defer func() { _ = unix.Close(before) }() // only waited for
	}
	next, silent := receiveOne(w.orders)
	switch {
	case silent == nil:
		return next, nil
	case err != nil && !gone:
		return keeperMsg{}, errors.Join(silent, os.NewSyscallError("pidfd_open", err))
	case !gone:
		err = awaitProcess(before)
	default:
		err = nil
	}
	w.log.Warn(fmt.Sprintf("the keeper has died during an upgrade: this worker follows %d by itself", o.Follows))
	return keeperMsg{Serve: o.Standby}, err
}

// awaitProcess waits until a process has ended.
func awaitProcess(pidfd int) error {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
		if n == 1 || err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
	}
}
