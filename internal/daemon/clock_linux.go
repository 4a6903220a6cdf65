// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"time"

	"golang.org/x/sys/unix"
)

// timeAwake returns the time that the machine has run, without that in which it was suspended:
// nothing is read or written then, and no timer goes on. All processes of the machine agree on it.
func timeAwake() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
