// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Where the namespace keeps what is its own. Both are in its /dev, which no other process sees.
const (
	viewDir = "/dev/.zramfs/view" // the served file system; detached once its parts are in place
	binDir  = "/dev/.zramfs/bin"  // programs that stand in for the machine's
	// machineDir has the directories of the machine's programs that are covered, by their paths.
	machineDir = "/dev/.zramfs/machine"
)

// The kernel's directories that parts of the served file system cover.
const (
	sysBlock = "/sys/block"
	sysDev   = "/sys/dev/block"
	sysClass = "/sys/class"
	control  = "zram-control"
)

// The kernel's tables that files of the served file system cover.
const (
	procSwaps   = "/proc/swaps"
	procModules = "/proc/modules"
)

// isZram reports whether a name is that of a zram device: zram0, zram1 and so on.
func isZram(name string) bool {
	digits, ok := strings.CutPrefix(name, "zram")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// newDev mounts a directory of memory on /dev with the nodes that are there, except for zram
// devices.
func newDev() error {
	old, err := os.Open("/dev")
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }() // read only
	entries, err := old.ReadDir(-1)
	if err != nil {
		return err
	}
	if err := unix.Mount("zramfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755"); err != nil {
		return fmt.Errorf("mount a tmpfs on /dev: %w", err)
	}
	from := "/proc/self/fd/" + strconv.Itoa(int(old.Fd()))
	for _, e := range entries {
		if isZram(e.Name()) {
			continue
		}
		err := takeNode(filepath.Join(from, e.Name()), filepath.Join("/dev", e.Name()), e)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a node may go away at any time
			return fmt.Errorf("/dev/%s: %w", e.Name(), err)
		}
	}
	return linkPrograms()
}

// takeNode puts an entry of the machine's /dev into the namespace's: a symbolic link or device node
// is made again, anything else is bind-mounted, with the mounts below.
func takeNode(from, to string, e fs.DirEntry) error {
	switch e.Type() {
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case fs.ModeDir:
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		return unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		err := copyNode(from, to)
		if !errors.Is(err, fs.ErrPermission) { // containers may be without CAP_MKNOD
			return err
		}
	}
	if err := os.WriteFile(to, nil, 0o600); err != nil {
		return err
	}
	return unix.Mount(from, to, "", unix.MS_BIND, "")
}

// copyNode makes a device node with the number, owner and permissions of another.
func copyNode(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("no device number: %w", errors.ErrUnsupported)
	}
	if err := unix.Mknod(to, st.Mode, int(st.Rdev)); err != nil {
		return err
	}
	if err := os.Lchown(to, int(st.Uid), int(st.Gid)); err != nil {
		return err
	}
	return unix.Chmod(to, st.Mode&0o7777) // whatever the umask
}

// linkPrograms makes this program stand in for those that handle the zram module.
func linkPrograms() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(binDir, 0o755); err != nil {
		return err
	}
	for _, name := range standIns {
		if err := os.Symlink(self, filepath.Join(binDir, name)); err != nil {
			return err
		}
	}
	return coverPrograms()
}

// coverPrograms puts the stand-ins where scripts call them by their paths. On a kernel that cannot
// lay one directory over another they are in PATH alone.
func coverPrograms() error {
	for _, dir := range []string{"/sbin", "/usr/sbin", "/bin", "/usr/bin"} {
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue // there is none
		}
		kept := machineDir + dir
		switch err := os.MkdirAll(filepath.Dir(kept), 0o755); {
		case err != nil:
			return err
		case os.Mkdir(kept, 0o755) != nil:
			continue // by another name
		}
		if err := unix.Mount(dir, kept, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s on %s: %w", dir, kept, err)
		}
		err = unix.Mount("zramfs", dir, "overlay", unix.MS_RDONLY, "lowerdir="+binDir+":"+kept)
		if err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.EINVAL) { // EINVAL: already two overlays deep
			return fmt.Errorf("mount the stand-ins on %s: %w", dir, err)
		}
	}
	return nil
}

// mountView mounts the file system that Run's process serves. The kernel answers this itself.
func mountView() error {
	if err := os.Mkdir(viewDir, 0o755); err != nil {
		return err
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions", fuseFile)
	if err := unix.Mount("zramfs", viewDir, "fuse.zramfs-view", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
		return fmt.Errorf("mount the view of the device: %w", err)
	}
	return nil
}

// coverSys puts the parts of the view in their places.
func coverSys() error {
	if _, err := os.Stat(filepath.Join(sysClass, control)); errors.Is(err, fs.ErrNotExist) {
		if err := newClass(); err != nil {
			return err
		}
	}
	for part, on := range map[string]string{
		partBlock: sysBlock, partNumbers: sysDev, partControl: filepath.Join(sysClass, control), partSwaps: procSwaps, partModules: procModules,
	} {
		if _, err := os.Stat(on); errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without swap or modules
		}
		if err := unix.Mount(filepath.Join(viewDir, part), on, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount on %s: %w", on, err)
		}
	}
	return unix.Unmount(viewDir, unix.MNT_DETACH)
}

// newClass makes room for zram-control on a kernel without zram: a directory of memory with the
// other classes bind-mounted.
func newClass() error {
	old, err := os.Open(sysClass)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }() // read only
	entries, err := old.ReadDir(-1)
	if err != nil {
		return err
	}
	if err := unix.Mount("zramfs", sysClass, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755"); err != nil {
		return fmt.Errorf("mount a tmpfs on %s: %w", sysClass, err)
	}
	from := "/proc/self/fd/" + strconv.Itoa(int(old.Fd()))
	for _, e := range entries {
		if err := takeNode(filepath.Join(from, e.Name()), filepath.Join(sysClass, e.Name()), e); err != nil {
			return fmt.Errorf("%s/%s: %w", sysClass, e.Name(), err)
		}
	}
	return os.Mkdir(filepath.Join(sysClass, control), 0o755)
}
