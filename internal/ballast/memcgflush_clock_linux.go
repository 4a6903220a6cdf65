// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what the calling thread has used so far.
func processorTime() time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		return 0 // only for a clock that the kernel does not have
	}
	return time.Duration(used.Nano())
}
