// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"testing"

	"golang.org/x/sys/unix"
)

// BehindOthers does work on a thread of the lowest priority, which leaves no thread there.
func TestBehindOthers(t *testing.T) {
	const inverse = 20
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	during, thread := 0, 0
	BehindOthers(func() {
		during, err = unix.Getpriority(unix.PRIO_PROCESS, 0)
		thread = unix.Gettid()
	})
	if err != nil || during != inverse-lowest {
		t.Errorf("the nice value is %d during work (%v), want %d", inverse-during, err, lowest)
	}
	if after, err := unix.Getpriority(unix.PRIO_PROCESS, thread); err == nil && after != before {
		t.Errorf("the nice value of the thread is %d after work, and was %d", inverse-after, inverse-before)
	}
}

// Work that takes memory in the real-time class goes on at the lowest priority.
func TestBehindOthersAfterRealTime(t *testing.T) {
	needRealTime(t)
	var nice int32
	var err error
	BehindOthers(func() {
		if err = InRealTime(func() error { return nil }); err != nil {
			return
		}
		var attr *unix.SchedAttr
		if attr, err = unix.SchedGetAttr(0, 0); err == nil {
			nice = attr.Nice
		}
	})
	if err != nil || nice != lowest {
		t.Errorf("the nice value is %d afterwards (%v), want %d", nice, err, lowest)
	}
}
