// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/moby/sys/mountinfo"

	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// errBusyDir means that a directory cannot be mounted on; the message says why.
var errBusyDir = errors.New("cannot be mounted on")

// prepareDir returns dir as the mount table will show it, and makes it if only its parent exists.
// If dir cannot be mounted on, it changes nothing. It reads the mount table first: the server of a
// mount point may not answer.
func prepareDir(dir string) (path string, created bool, err error) {
	path, err = filepath.Abs(dir)
	if err != nil {
		return "", false, fmt.Errorf("mount point %s: %w", dir, err)
	}
	if err := checkUnmounted(path); err != nil {
		return "", false, err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", false, fmt.Errorf("mount point %s: its parent must exist: %w", dir, err)
	}
	path = filepath.Join(parent, filepath.Base(path))
	if err := checkUnmounted(path); err != nil {
		return "", false, err
	}
	err = os.Mkdir(path, 0o755)
	if err == nil {
		return path, true, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return "", false, fmt.Errorf("make mount point: %w", err)
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return "", false, fmt.Errorf("mount point %s: %w", dir, err)
	}
	return path, false, checkEmpty(path)
}

// checkUnmounted fails if the uppermost mount on path is a zramfs. Other mounts are plain
// directories here.
func checkUnmounted(path string) error {
	mounted, err := isMounted(path)
	if err != nil {
		return err
	}
	if mounted {
		return fmt.Errorf("%s %w: a zramfs is mounted there already; zramfs umount %[1]s removes it", term.ShellWord(path), errBusyDir)
	}
	return nil
}

// isMounted reports whether the uppermost mount on path is a zramfs. The path must be free of
// symbolic links.
func isMounted(path string) (bool, error) { return topMount(path, IsDevice) }

// topMount reports whether the uppermost mount on path is one of those. The path must be free of
// symbolic links.
func topMount(path string, those func(*mountinfo.Info) bool) (bool, error) {
	mounts, err := mountinfo.GetMounts(nil) // of the thread, where host.Local has the process's
	if err != nil {
		return false, fmt.Errorf("read the mount table: %w", err)
	}
	for _, m := range slices.Backward(mounts) {
		if m.Mountpoint == path {
			return those(m), nil
		}
	}
	return false, nil
}

// checkEmpty fails if path is not a directory, or has entries that a mount would hide.
func checkEmpty(path string) (err error) {
	if err := checkUnmounted(path); err != nil { // path may have been a symbolic link
		return err
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s %w: not a directory", path, errBusyDir)
	}
	if err != nil {
		return fmt.Errorf("mount point: %w", err)
	}
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("mount point: %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	switch _, err := d.ReadDir(1); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("%s %w: %w", path, errBusyDir, err)
	}
	return fmt.Errorf("%s %w: not empty; name an empty directory, or one that does not exist", path, errBusyDir)
}

// Taken reports whether a device is mounted on dir, or is about to be.
func Taken(dir string) bool {
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	path := filepath.Join(parent, filepath.Base(dir))
	here := func() bool { mounted, merr := isMounted(path); return err == nil && merr == nil && mounted }
	if here() {
		return true
	}
	release, free := claimDir(path)
	release()
	return !free || here()
}

// giveUpDir removes the mount point that prepareDir made if err says that nothing was mounted. The
// serving process removes its own mounts. If another process is about to mount there, the directory
// stays for it. The kernel removes no directory that has a mount, also where the mount table cannot
// be read.
func giveUpDir(cfg zramfsd.Config, err error) error {
	if err == nil || !cfg.CreatedDir {
		return err
	}
	if mounted, merr := isMounted(cfg.Dir); merr == nil && mounted {
		return err
	}
	release, free := claimDir(cfg.Dir)
	defer release()
	if !free {
		return err
	}
	if rerr := os.Remove(cfg.Dir); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		return errors.Join(err, rerr)
	}
	return err
}
