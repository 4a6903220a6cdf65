// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// claim takes the lock of a file that all who take one as a backing device ask for. Of a block
// device O_EXCL is the claim.
func claim(f *os.File, mode uint32) error {
	if mode&unix.S_IFMT == unix.S_IFBLK {
		return nil
	}
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("in use by another device: %w", unix.EBUSY)
	}
	return os.NewSyscallError("flock", err)
}

// unclaimed refuses the file or device below a loop device if it is the backing device of another
// store, or a device that is mounted. One that cannot be opened passes.
func unclaimed(path string, mode uint32) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err == nil {
		f := os.NewFile(uintptr(fd), path)
		err = errors.Join(claim(f, mode), f.Close())
	}
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("lies on %s: %w", path, err)
	}
	return nil
}

// leaseTime is how long a file may be open elsewhere: programs look at files that were just made.
const leaseTime = time.Second

// unusedFile refuses a file that anything else has open: a process, a loop device, swap. The kernel
// gives a lease for writing only where this is the one open file of the inode. The lease ends here,
// or the next to open the file would wait. Where there are no leases, all passes.
func unusedFile(f *os.File, fileSystem int64) error {
	switch fileSystem {
	case unix.NFS_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return nil // the server may refuse a lease of an unused file
	}
	for end := time.Now().Add(leaseTime); ; time.Sleep(leaseTime / 100) {
		_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
		switch {
		case err == nil:
			_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
			return os.NewSyscallError("fcntl", err)
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EACCES): // no leases, or for the owner only
			return nil
		case !errors.Is(err, unix.EAGAIN):
			return os.NewSyscallError("fcntl", err)
		case time.Now().After(end):
			return fmt.Errorf("in use by a program, a loop device or swap: fuser, losetup -j and /proc/swaps name it: %w", unix.EBUSY)
		}
	}
}

// unusedDevice refuses a block device that is read-only or below a loop device, and a loop device
// whose file another has too. A loop device claims nothing of what it lies on.
func unusedDevice(f *os.File, number uint64) error {
	if ro, err := unix.IoctlGetInt(int(f.Fd()), unix.BLKROGET); err == nil && ro != 0 {
		return fmt.Errorf("read-only: %w", unix.EROFS)
	}
	device, _ := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(number), unix.Minor(number)))
	own, _ := os.ReadFile(filepath.Join(device, loopFile)) // of other devices there is none
	files, _ := filepath.Glob("/sys/block/loop*/" + loopFile)
	for _, file := range files {
		loop := strings.TrimSuffix(file, "/"+loopFile)
		name, err := os.ReadFile(file)
		if err != nil || filepath.Base(loop) == filepath.Base(device) {
			continue
		}
		// The path may be of another mount namespace: its last name is that of the device.
		below, err := deviceNumber("/sys/class/block/" + filepath.Base(strings.TrimSpace(string(name))) + "/dev")
		if len(own) > 0 && bytes.Equal(name, own) || err == nil && below == number {
			return fmt.Errorf("/dev/%s has it, or its file, too: %w", filepath.Base(loop), unix.EBUSY)
		}
	}
	return nil
}

// loopFile is where the kernel gives the path of a loop device's file, in the device's directory.
const loopFile = "loop/backing_file"
