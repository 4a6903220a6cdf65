// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pageOutCommand is "pageout PID...": it has the kernel swap out all memory that each process has
// for itself. Locked processes keep theirs.
func pageOutCommand(pids []string) error {
	for _, pid := range pids {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return err
		}
		if err := pageOut(n); err != nil {
			return fmt.Errorf("page out process %d: %w", n, err)
		}
	}
	return nil
}

func pageOut(pid int) (err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	for line := range strings.Lines(string(text)) {
		var start, end uintptr
		var rights string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &start, &end, &rights); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		if !strings.HasPrefix(rights, "rw-p") {
			continue
		}
		part := unix.RemoteIovec{Base: start, Len: int(end - start)}
		_, _, errno := unix.Syscall6(unix.SYS_PROCESS_MADVISE, uintptr(fd), uintptr(unsafe.Pointer(&part)), 1, unix.MADV_PAGEOUT, 0, 0)
		if errno != 0 && errno != unix.EINVAL { // of locked memory
			return errno
		}
	}
	return nil
}
