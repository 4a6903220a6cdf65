// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The memory of requests is present from the start in every process that maps it, even with all
// memory locked as the daemon locks it: if the process is killed while the kernel copies a request
// to an absent page, the caller gets EIO.
func TestRequestsArePresent(t *testing.T) {
	l := newLeft(t)
	err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT)
	if err != nil && !errors.Is(err, unix.ENOMEM) && !errors.Is(err, unix.EPERM) { // else it shows less
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munlockall(); err != nil {
			t.Error(err)
		}
	}()
	s := l.successor()
	if n := absent(t, s.requests.mem); n != 0 {
		t.Errorf("%d of %d pages are not present", n, len(s.requests.mem)/pageSize)
	}
}

// absent counts the pages that this process would have to fault in.
func absent(t *testing.T, mem []byte) (n int) {
	t.Helper()
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries := make([]byte, len(mem)/pageSize*8)
	if _, err := f.ReadAt(entries, int64(uintptr(unsafe.Pointer(&mem[0]))/pageSize*8)); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(entries); i += 8 {
		if binary.LittleEndian.Uint64(entries[i:])>>63 == 0 {
			n++
		}
	}
	return n
}
