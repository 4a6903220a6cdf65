// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"golang.org/x/sys/unix"
)

const (
	// leastFiles is how many open files every command may need.
	leastFiles = 64
	// leastSpace is how much address space the processes of a device take beside its image; the image
	// takes twice its size at most.
	leastSpace = 1792 << 20
)

// checkFiles refuses to begin what would end in the middle for want of descriptors.
func checkFiles() error {
	n, limited := limitOf(unix.RLIMIT_NOFILE)
	if limited && n < leastFiles {
		return fmt.Errorf("only %d open files are allowed (ulimit -n): allow %d", n, leastFiles)
	}
	return nil
}

// checkSpace refuses a device for which a limit leaves too little address space: without that, a
// process ends at any moment.
func checkSpace(disksize uint64) error {
	n, limited := limitOf(unix.RLIMIT_AS)
	if want := leastSpace + 2*disksize; limited && n < want {
		return fmt.Errorf("only %s of address space are allowed (ulimit -v), and a device of %s needs %s: ulimit -v unlimited",
			term.Size(n), term.Size(disksize), term.Size(want))
	}
	return nil
}

// limitOf is a resource limit of this process, unless there is none or it is not known.
func limitOf(resource int) (n uint64, limited bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil || l.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	return l.Cur, true
}
