// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHints looks for what a person can do about the usual failures.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		hint  func(error) string
		errno unix.Errno
		want  string
	}{
		{deviceHint, unix.ENOENT, "modprobe fuse"},
		{deviceHint, unix.ENODEV, "modprobe fuse"},
		{deviceHint, unix.EACCES, "run as root"},
		{deviceHint, unix.EPERM, "--device /dev/fuse"},
		{mountHint, unix.EPERM, "unshare --map-root-user --mount"},
		{mountHint, unix.ENODEV, "modprobe fuse"},
	} {
		got := c.hint(fmt.Errorf("wrapped: %w", c.errno))
		if !strings.HasPrefix(got, ": ") || !strings.Contains(got, c.want) {
			t.Errorf("%v: the hint is %q, want one with %q", c.errno, got, c.want)
		}
	}
	if got := deviceHint(unix.EMFILE) + mountHint(unix.EBUSY); got != "" {
		t.Errorf("hint %q where there is nothing to say", got)
	}
}

// TestLineWriter passes a line of go-fuse's on.
func TestLineWriter(t *testing.T) {
	var logs logBook
	if n, err := lineWriter(logs.add).Write([]byte("100% odd\n")); n != 9 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if got := logs.all(); len(got) != 1 || got[0] != "fuse: 100% odd" {
		t.Errorf("logged %q", got)
	}
}
