// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// lowest is the least favourable nice value.
const lowest = 19

// BehindOthers has a thread of the lowest priority do work, and returns when the work is done. Then
// a thread that a request wakes need not wait until one that packs cold pages has used up its
// slice. The class SCHED_IDLE would be lower, but takes no short slice: requests waited for 3.5 ms.
//
// The thread goes back to its priority, or ends where that takes a privilege which the process
// lacks (CAP_SYS_NICE).
func BehindOthers(work func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		inverse, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 less the nice value
		if err == nil {
			err = unix.Setpriority(unix.PRIO_PROCESS, 0, lowest)
		}
		work()
		if err != nil || unix.Setpriority(unix.PRIO_PROCESS, 0, 20-inverse) == nil {
			runtime.UnlockOSThread()
		}
	}()
	<-done
}
