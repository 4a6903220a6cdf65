// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"golang.org/x/sys/unix"
)

// leastSpace is the address space that the processes of a device take without its image, in
// bytes; the image takes twice its size at most.
const leastSpace = 1792 << 20

// checkSpace refuses a device if a limit leaves too little address space: a process without any may
// die at any moment.
func checkSpace(disksize uint64) error {
	n, limited := limitOf(unix.RLIMIT_AS)
	if want := leastSpace + 2*disksize; limited && n < want {
		return fmt.Errorf("only %s of address space are allowed (ulimit -v), and a device of %s needs %s: ulimit -v unlimited",
			term.Size(n), term.Size(disksize), term.Size(want))
	}
	return nil
}

// limitOf returns a resource limit of this process, or false if there is none or it is unknown.
func limitOf(resource int) (n uint64, limited bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil || l.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	return l.Cur, true
}
