// SPDX-License-Identifier: Apache-2.0

package callfail

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A Fail calls do with one system call failing there, and returns the name of the call and its
// error. The name is empty where do makes no call that is yet to fail.
type Fail func(do func()) (call string, errno unix.Errno)

// Each calls try again and again, until each system call has failed that is made by what try hands
// to fail, with each of some errors. Each try has to leave as many descriptors and mappings of
// memory files as it found.
func Each(t *testing.T, try func(t *testing.T, fail Fail)) {
	t.Helper()
	for _, errno := range []unix.Errno{unix.ENOMEM, unix.EIO, unix.EINTR, unix.EINVAL} {
		for n, more := 1, true; more && !t.Failed(); n++ {
			t.Run(fmt.Sprintf("%s of call %d", unix.ErrnoName(errno), n), func(t *testing.T) {
				more = false
				before, mapped := descriptors(t), Mappings(t)
				try(t, func(do func()) (string, unix.Errno) {
					call := Nth(t, n, errno, do)
					more = more || call != ""
					return call, errno
				})
				if after, maps := descriptors(t), Mappings(t); after != before || maps != mapped {
					t.Errorf("%d descriptors are open and %d memory files mapped, %d and %d were", after, maps, before, mapped)
				}
			})
		}
	}
}

// descriptors is how many this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Mappings is how many mappings of memory files this process has.
func Mappings(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "/memfd:")
}
