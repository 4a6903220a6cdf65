// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sysSwapon is swapon(2), for which x/sys has a number but no function. The conversion stands in
// the call itself, as package unsafe demands for a pointer that a system call takes.
func sysSwapon(path string, flags int) error {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(p)), uintptr(flags), 0); errno != 0 {
		return errno
	}
	return nil
}

// sysSwapoff is swapoff(2), with the same conversion.
func sysSwapoff(path string) error {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(p)), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
