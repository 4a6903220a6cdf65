// SPDX-License-Identifier: Apache-2.0

package require

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// uringParameter is the fuse module's switch (Linux 6.14).
const uringParameter = "/sys/module/fuse/parameters/enable_uring"

func tryUring() *unmet {
	fix := "echo Y > " + uringParameter + " as root"
	enabled, err := os.ReadFile(uringParameter)
	if err != nil {
		return &unmet{err, "a kernel from 6.14 on with CONFIG_FUSE_IO_URING; modprobe fuse"}
	}
	if string(bytes.TrimSpace(enabled)) != "Y" {
		return &unmet{fmt.Errorf("%s holds %q", uringParameter, bytes.TrimSpace(enabled)), fix}
	}
	// io_uring_setup(2) checks the caller's permission before it reads its parameters, so a null
	// pointer tells without making a ring.
	_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	if errno != unix.EFAULT {
		return &unmet{fmt.Errorf("try io_uring_setup: %w", errno), "sysctl -w kernel.io_uring_disabled=0; allow io_uring in the container's seccomp profile"}
	}
	return nil
}
