// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// The flags of swapon(2), from include/linux/swap.h of the kernel. DISCARD alone selects both kinds
// of discard; with one of the other two it selects that kind only.
const (
	flagPrefer       = 0x8000
	flagDiscard      = 0x10000
	flagDiscardOnce  = 0x20000
	flagDiscardPages = 0x40000
)

// swapFlags translates into the flags that swapon(8) passes for the same wishes.
func swapFlags(priority int, d Discard) (int, error) {
	flags := 0
	switch {
	case priority == -1:
	case priority >= 0 && priority <= MaxPriority:
		flags = flagPrefer | priority
	default:
		return 0, fmt.Errorf("%w: priority %d is not from -1 to %d", ErrInvalid, priority, MaxPriority)
	}
	if d == "" {
		d = DiscardNone
	}
	d, err := ParseDiscard(string(d))
	if err != nil {
		return 0, err
	}
	switch d {
	case DiscardBoth:
		flags |= flagDiscard
	case DiscardOnce:
		flags |= flagDiscard | flagDiscardOnce
	case DiscardPages:
		flags |= flagDiscard | flagDiscardPages
	case DiscardNone:
	}
	return flags, nil
}

func swapOn(dev string, priority int, d Discard) error {
	flags, err := swapFlags(priority, d)
	if err != nil {
		return err
	}
	err = sysSwapon(dev, flags)
	if errors.Is(err, unix.EINVAL) {
		// The path and the flags are valid by now. The kernel's log has other reasons.
		return fmt.Errorf("%w (the kernel log says more): %w", ErrSwapHeader, err)
	}
	return err
}

// swapTotals returns the size of all swap areas and the used part of them, in bytes, from
// sysinfo(2), which no mount hides.
func swapTotals() (size, used uint64) {
	var all unix.Sysinfo_t
	if err := unix.Sysinfo(&all); err != nil {
		return 0, 0
	}
	unit := uint64(all.Unit)
	return uint64(all.Totalswap) * unit, uint64(all.Totalswap-min(all.Freeswap, all.Totalswap)) * unit
}

// deviceAt returns the kernel's name and the size in bytes of the block device whose node is at
// path.
func deviceAt(path string) (name string, size uint64, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return "", 0, unix.ENOTBLK
	}
	dir := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	if name, err = os.Readlink(dir); err != nil {
		return "", 0, err
	}
	size, err = readUint(dir + "/size")
	return filepath.Base(name), size * sectorSize, err
}

// swapOff blocks the thread's signals during the call. Between two processes whose pages it brings
// back the kernel gives up with EINTR if a signal is pending, even one without meaning for a Go
// program, such as that of a resized terminal, and the area stays in use. A signal that ends the
// process reaches another thread and still ends this call.
func swapOff(dev string) error {
	if err := ownNode(dev); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old); err != nil {
		return fmt.Errorf("block signals: %w", err)
	}
	err := sysSwapoff(dev)
	if e := unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil); e != nil {
		return withUndo(err, fmt.Errorf("unblock signals: %w", e))
	}
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: %w", ErrNotSwap, err)
	}
	return err
}

// ownNode makes the node of a loop device where it has been removed, and refuses one of another
// device in its place.
func ownNode(dev string) error {
	n, err := loopNumber(dev)
	if err != nil {
		return nil // another device or a file
	}
	fd, err := openNode(devPath(n), sysPath(n, "dev"), unix.S_IFBLK, unix.O_PATH)
	if errors.Is(err, fs.ErrNotExist) { // no such device, or no /sys
		return nil
	}
	if err == nil {
		closeQuietly(fd)
	}
	return err
}
