// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/store"
)

func TestErrno(t *testing.T) {
	for _, c := range []struct {
		err   error
		want  syscall.Errno
		known bool
	}{
		{nil, 0, true},
		{store.ErrFull, syscall.ENOSPC, true},
		{fmt.Errorf("write page 7: %w", store.ErrFull), syscall.ENOSPC, true},
		{fmt.Errorf("read page 7: %w", store.ErrCorrupt), syscall.EIO, true},
		{store.ErrRange, syscall.EINVAL, true},
		{errors.New("something else"), syscall.EIO, false},
		{syscall.ENOSYS, syscall.EIO, false}, // ENOSYS would make the kernel never ask again
	} {
		if got, known := errno(c.err); got != c.want || known != c.known {
			t.Errorf("%v becomes %v, known: %v, want %v", c.err, got, known, c.want)
		}
	}
}

// TestFailedLogs logs unexpected errors, but not every time.
func TestFailedLogs(t *testing.T) {
	var logs logBook
	f := &fileSystem{logf: logs.add}
	f.failed("write", fmt.Errorf("page 7: %w", store.ErrFull))
	if got := logs.all(); len(got) != 0 {
		t.Errorf("an expected error was logged: %q", got)
	}
	for range 1000 {
		f.failed("write", errors.New("something else"))
	}
	got := logs.all()
	if len(got) == 0 || len(got) > 5 || got[0] != "write dev/zram0: something else" {
		t.Errorf("logged %d times: %q", len(got), got)
	}
}
