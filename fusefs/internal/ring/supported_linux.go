// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrUnsupported: this machine does not serve FUSE over io_uring, now.
var ErrUnsupported = errors.New("no FUSE over io_uring")

const (
	// enableParameter is the fuse module's switch.
	enableParameter = "/sys/module/fuse/parameters/enable_uring"
	// disabledSysctl is who may not use io_uring: 0 nobody, 1 all but
	// kernel.io_uring_group, 2 everybody (Documentation/admin-guide/sysctl/kernel.rst).
	disabledSysctl = "/proc/sys/kernel/io_uring_disabled"
)

// Supported tells whether a connection made now could be served by rings, and what
// to do when not. It makes a ring and closes it; the answer can change.
func Supported() error {
	switch enabled, err := readWord(enableParameter); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: the kernel's fuse module has no enable_uring: it takes Linux 6.14 with CONFIG_FUSE_IO_URING"+
			" (if the module is not loaded: modprobe fuse)", ErrUnsupported)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	case enabled != "Y":
		return fmt.Errorf("%w: the kernel's fuse module has it switched off: echo Y > %s as root, or boot with fuse.enable_uring=1",
			ErrUnsupported, enableParameter)
	}
	return Try()
}

// Try tells whether this process can make rings, as it must to adopt some: what
// [Supported] looks at beside that matters to new connections alone.
func Try() error {
	u, err := newUring(1, 1, defaultSetup)
	if err != nil {
		return fmt.Errorf("%w: %w%s", ErrUnsupported, err, setupHint(err))
	}
	if err := u.close(); err != nil {
		return fmt.Errorf("close trial ring: %w", err)
	}
	return nil
}

// setupHint says what to do when io_uring_setup(2) fails.
func setupHint(err error) string {
	switch {
	case errors.Is(err, unix.EPERM):
		if mode, _ := readWord(disabledSysctl); mode != "" && mode != "0" {
			return ": sysctl -w kernel.io_uring_disabled=0"
		}
		return ": a seccomp profile forbids it (containers: allow io_uring_setup, io_uring_enter and io_uring_register)"
	case errors.Is(err, unix.ENOSYS):
		return ": the kernel is built without CONFIG_IO_URING"
	case errors.Is(err, unix.ENOMEM):
		return ": raise RLIMIT_MEMLOCK"
	}
	return ""
}

func readWord(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}
