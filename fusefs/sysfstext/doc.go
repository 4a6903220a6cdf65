// SPDX-License-Identifier: Apache-2.0

// Package sysfstext reads what scripts write to the attributes of kernel zram, with the kernel's
// grammar and error numbers: sizes (memparse and next_arg in lib/cmdline.c), numbers
// (lib/kstrtox.c) and lists of key=value (Documentation/admin-guide/blockdev/zram.rst).
//
// All functions take the bytes of one write(2). As in the kernel a zero byte ends the text. Errors
// are a syscall.Errno: EINVAL for what is malformed, ERANGE for a number that the type cannot hold.
package sysfstext
