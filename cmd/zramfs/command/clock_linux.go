// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the CPU time that the calling thread has used, for a goroutine that is locked
// to it.
func threadTime() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("read the thread's clock: %w", err)
	}
	return time.Duration(t.Nano()), nil
}
