// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// mountPoint returns dir as the mount table will show it, or why nothing can be mounted there.
func mountPoint(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("mount point %s: %w", dir, err)
	}
	path, err = filepath.EvalSymlinks(path)
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, unix.ENOTCONN):
		return "", fmt.Errorf("mount point %s: %w: a dead mount is left there: remove it with umount %[1]q", dir, err)
	case err != nil:
		return "", fmt.Errorf("mount point %s: %w", dir, err)
	case !info.IsDir():
		return "", fmt.Errorf("mount point %s: %w", dir, unix.ENOTDIR)
	}
	top, err := topMount(path)
	if err != nil {
		return "", err
	}
	if top != nil && top.FSType == typeName {
		return "", fmt.Errorf("mount point %s: %w: remove it first (zramfs umount %[1]q), or take another directory", dir, ErrMounted)
	}
	return path, nil
}

// topMount returns the uppermost mount on path, or nil where there is none. It reads the mount
// table: looking at path itself could send a request to this process.
func topMount(path string) (*mountinfo.Info, error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return m.Mountpoint != path, false
	})
	if err != nil {
		return nil, fmt.Errorf("read mount table: %w", err)
	}
	if len(mounts) == 0 {
		return nil, nil
	}
	return mounts[len(mounts)-1], nil
}

// openDevice opens a connection: the descriptor that requests come from. Child processes do not
// inherit it, or a dead device's users would keep waiting.
func openDevice() (*os.File, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/fuse: %w%s", err, deviceHint(err))
	}
	return os.NewFile(uintptr(fd), "/dev/fuse"), nil
}

// makeMount makes the mount of a connection, attached nowhere yet (Linux 5.2). The kernel begins to
// negotiate at once. number is the connection's number.
func makeMount(device *os.File, typ string, transfer int, allowOther bool) (mount *os.File, number int, err error) {
	context, err := unix.Fsopen("fuse", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, 0, fmt.Errorf("open the file system fuse: %w%s", err, mountHint(err))
	}
	defer func() { err = errors.Join(err, unix.Close(context)) }()
	// Options: fuse_fs_parameters in the kernel's fs/fuse/inode.c. user_id and group_id name the
	// owner: only the owner has access without allow_other.
	options := [][2]string{
		{"source", sourceName}, {"subtype", strings.TrimPrefix(typ, "fuse.")},
		{"fd", strconv.Itoa(int(device.Fd()))}, {"rootmode", strconv.FormatInt(unix.S_IFDIR, 8)},
		{"user_id", strconv.Itoa(os.Geteuid())}, {"group_id", strconv.Itoa(os.Getegid())},
		{"max_read", strconv.Itoa(transfer)},
	}
	for _, o := range options {
		if err := unix.FsconfigSetString(context, o[0], o[1]); err != nil {
			return nil, 0, fmt.Errorf("mount option %s=%s: %w%s", o[0], o[1], err, mountHint(err))
		}
	}
	flags := []string{"default_permissions"}
	if allowOther {
		flags = append(flags, "allow_other")
	}
	for _, name := range flags {
		if err := unix.FsconfigSetFlag(context, name); err != nil {
			return nil, 0, fmt.Errorf("mount option %s: %w", name, err)
		}
	}
	if err := unix.FsconfigCreate(context); err != nil {
		return nil, 0, fmt.Errorf("make the file system: %w%s", err, mountHint(err))
	}
	const attributes = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
	fd, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return nil, 0, fmt.Errorf("make the mount: %w%s", err, mountHint(err))
	}
	mount = os.NewFile(uintptr(fd), typ)
	number, err = connectionNumber(fd)
	return mount, number, err
}

// connectionNumber returns the minor number of the file system's device. The kernel answers without
// a request.
func connectionNumber(mount int) (int, error) {
	var st unix.Statx_t
	err := unix.Statx(mount, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC|unix.AT_SYMLINK_NOFOLLOW, 0, &st)
	if err != nil {
		return 0, fmt.Errorf("look at the mount: %w", err)
	}
	return int(st.Dev_minor), nil
}

// errMoved: a directory on the way to the mount point was replaced since it was looked at.
var errMoved = errors.New("a directory of the path was replaced by something else")

// attach makes a mount visible on dir, which has no symbolic links: a user who owns a directory of
// the path cannot have the mount made elsewhere by replacing one now.
func attach(mount *os.File, dir string) (err error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("mount %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	switch at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); {
	case err != nil:
		return fmt.Errorf("mount %s: %w", dir, err)
	case at != dir:
		return fmt.Errorf("mount %s: %w, %s", dir, errMoved, at)
	}
	err = unix.MoveMount(int(mount.Fd()), "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("mount %s: %w%s", dir, err, mountHint(err))
	}
	return nil
}

// deviceHint returns what to do when /dev/fuse cannot be opened.
func deviceHint(err error) string {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return `: load the module with "modprobe fuse"; a container needs the device passed in (--device /dev/fuse)`
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return ": run as root, or give this user the device; a container must be allowed to use it (--device /dev/fuse)"
	}
	return ""
}

// mountHint returns what to do when mount(2) fails.
func mountHint(err error) string {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return ": run as root (a container needs CAP_SYS_ADMIN), or in namespaces of your own (unshare --map-root-user --mount)"
	case errors.Is(err, unix.ENODEV):
		return `: the kernel has no FUSE: load it with "modprobe fuse"`
	case errors.Is(err, unix.EINVAL):
		return `: is /dev/fuse the FUSE device? Load the module with "modprobe fuse"; a container needs --device /dev/fuse`
	}
	return ""
}

// unmount removes a mount, if it is there and nothing covers it, with the given flags of
// umount2(2), and reports whether it did. opens counts open handles for the error message.
func unmount(dir, typ string, number, flags int, opens func() int) (done bool, err error) {
	top, err := topMount(dir)
	switch {
	case err != nil:
		return false, err
	case top == nil || top.FSType != typ || top.Minor != number:
		return false, nil
	}
	err = unix.Unmount(dir, flags|unix.UMOUNT_NOFOLLOW)
	switch {
	case errors.Is(err, unix.EBUSY):
		return false, fmt.Errorf("unmount %s: %w (%w), %d open handles on dev/zram0", dir, ErrInUse, err, opens())
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT): // another process has unmounted it
		return false, nil
	case err != nil:
		return false, fmt.Errorf("unmount %s: %w", dir, err)
	}
	return true, nil
}

// maxWrite is wantWrite or what the kernel allows (Linux 6.13; fixed before).
func maxWrite() int {
	pages, err := readNumber("/proc/sys/fs/fuse/max_pages_limit")
	if err != nil {
		return wantWrite
	}
	return transferOf(pages)
}

// leastRead is the least room for a request with which the kernel lets a server read
// (FUSE_MIN_READ_BUFFER).
const leastRead = 8192

// transferOf is the largest write of a device where the kernel allows a number of pages. It may be
// more than that: the slots have room for it, and the kernel sends less.
func transferOf(pages int) int { return min(wantWrite, max(pages*os.Getpagesize(), leastRead)) }

func readNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
