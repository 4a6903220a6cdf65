// SPDX-License-Identifier: Apache-2.0

package callfail

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Each call fails once, and no other does.
func TestNth(t *testing.T) {
	for n, want := range []string{"", "memfd_create", "ftruncate", "mmap", "madvise", ""} {
		var fd int
		var mem []byte
		var errs [4]error
		failed := Nth(t, n, unix.ENOMEM, func() {
			fd, errs[0] = unix.MemfdCreate("test", unix.MFD_CLOEXEC)
			errs[1] = unix.Ftruncate(fd, 4096)
			mem, errs[2] = unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
			errs[3] = unix.Madvise(mem, unix.MADV_DONTDUMP)
		})
		if failed != want {
			t.Errorf("call %d that failed is %q, want %q", n, failed, want)
		}
		for i, err := range errs {
			if bad := want != "" && i == n-1; bad && err != unix.ENOMEM || !bad && want == "" && err != nil {
				t.Errorf("with call %d failing call %d gives %v", n, i+1, err)
			}
		}
		if mem != nil {
			_ = unix.Munmap(mem)
		}
		_ = unix.Close(fd)
	}
}
