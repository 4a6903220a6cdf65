// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// mountPoint returns dir as the mount table will show it, or says why nothing
// can be mounted there.
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
		return "", fmt.Errorf("mount point %s: %w: a dead mount is left there: remove it with \"umount %[1]s\"", dir, err)
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
		return "", fmt.Errorf("mount point %s: %w: remove it first (zramfs umount %[1]s), or take another directory", dir, ErrMounted)
	}
	return path, nil
}

// topMount returns the uppermost mount on path, or nil where there is none. It
// reads the mount table: looking at path itself could be a request to ourselves.
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

// mountFUSE opens /dev/fuse and mounts it on dir, and returns the descriptor
// that requests come from. go-fuse can do this too, but leaves the descriptor
// open to programs we start, which would keep a dead device's users waiting.
func mountFUSE(dir string, allowOther bool) (device int, err error) {
	device, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open /dev/fuse: %w%s", err, deviceHint(err))
	}
	// Options: fuse_fs_parameters in the kernel's fs/fuse/inode.c. user_id and
	// group_id say who may look in without allow_other.
	options := []string{
		fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d", device, unix.S_IFDIR, os.Geteuid(), os.Getegid()),
		fmt.Sprintf("max_read=%d", maxWrite()),
		"default_permissions",
	}
	if allowOther {
		options = append(options, "allow_other")
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount(sourceName, dir, typeName, flags, strings.Join(options, ",")); err != nil {
		return -1, errors.Join(fmt.Errorf("mount %s: %w%s", dir, err, mountHint(err)), unix.Close(device))
	}
	return device, nil
}

// deviceHint says what to do when /dev/fuse cannot be opened.
func deviceHint(err error) string {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return `: load the module with "modprobe fuse"; a container needs the device passed in (--device /dev/fuse)`
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return ": run as root, or give this user the device; a container must be allowed to use it (--device /dev/fuse)"
	}
	return ""
}

// mountHint says what to do when mount(2) fails.
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

// unmount removes the mount, if it is there and nothing covers it.
func (s *Server) unmount() error {
	top, err := topMount(s.dir)
	switch {
	case err != nil:
		return err
	case top == nil || top.FSType != typeName || top.Minor != s.settings.Connection:
		return nil
	}
	err = unix.Unmount(s.dir, unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("unmount %s: %w (%w), %d open handles on dev/zram0", s.dir, ErrInUse, err, s.OpenCount())
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", s.dir, err)
	}
	return nil
}

// detach takes away a mount that nothing serves.
func detach(dir string) error {
	if err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return fmt.Errorf("detach %s: %w", dir, err)
	}
	return nil
}

// negotiated collects what the kernel made of our wishes.
func (s *Server) negotiated() (Settings, error) {
	top, err := topMount(s.dir)
	if err != nil {
		return Settings{}, err
	}
	if top == nil || top.FSType != typeName {
		return Settings{}, fmt.Errorf("mount %s: another mount took its place", s.dir)
	}
	settings := Settings{
		Connection:    top.Minor,
		AsyncDIO:      s.fuse.KernelSettings().Flags64()&extraCapabilities&fuse.CAP_ASYNC_DIO != 0,
		MaxWrite:      maxWrite(),
		MaxBackground: background,
	}
	// fs.fuse.max_user_bgreq bounds it for mounts in user namespaces. The file
	// can be read where fusectl is mounted.
	path := fmt.Sprintf("/sys/fs/fuse/connections/%d/max_background", settings.Connection)
	if n, err := readNumber(path); err == nil {
		settings.MaxBackground = n
	}
	return settings, nil
}

// maxWrite is wantWrite or what the kernel allows (Linux 6.13; fixed before).
func maxWrite() int {
	pages, err := readNumber("/proc/sys/fs/fuse/max_pages_limit")
	if err != nil {
		return wantWrite
	}
	return min(wantWrite, pages*os.Getpagesize())
}

func readNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
