// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the CPU time that the calling thread has used. The caller is locked to its
// thread.
func threadTime() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("read the CPU time of the thread: %w", err)
	}
	return time.Duration(t.Nano()), nil
}
