// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrUnsupported: this machine does not support FUSE over io_uring at present.
var ErrUnsupported = errors.New("no FUSE over io_uring")

const (
	// enableParameter is the fuse module's switch.
	enableParameter = "/sys/module/fuse/parameters/enable_uring"
	// disabledSysctl: 0 lets all processes use io_uring, 1 privileged ones and the group
	// kernel.io_uring_group, 2 none (Documentation/admin-guide/sysctl/kernel.rst).
	disabledSysctl = "/proc/sys/kernel/io_uring_disabled"
)

// Supported returns nil if a connection made now could be served by rings, else an error that says
// what to do. It makes a ring and closes it; the answer can change.
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

// Try returns nil if this process can make rings, which is all that adopting them takes:
// [Supported]'s other conditions concern new connections.
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

// setupHint returns what to do when io_uring_setup(2) fails.
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
