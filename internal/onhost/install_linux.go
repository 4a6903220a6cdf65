// SPDX-License-Identifier: Apache-2.0

package onhost

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// room is the size of the file system for programs: two versions of them, in bytes.
const room = 128 << 20

// Install copies programs of the pod's image to the node, each to its name below Programs(dir), and
// returns whether these are others than before. dir becomes a file system in memory, from which
// programs can be executed, whatever the node's own ones allow. Programs that were there before are
// removed; processes that run them go on.
func Install(dir string, programs ...string) (changed bool, err error) {
	files, version, err := openPrograms(programs)
	defer closeFiles(files)
	if err != nil {
		return false, err
	}
	err = Within(func() error {
		if isCurrent(dir, version) {
			return nil
		}
		changed = true
		if err := makeRoom(dir); err != nil {
			return err
		}
		return place(dir, version, files)
	})
	if err != nil {
		return false, fmt.Errorf("install on the node: %w", err)
	}
	return changed, nil
}

// Installed reports whether Install was last called for these programs, as they are now.
func Installed(dir string, programs ...string) (is bool, err error) {
	files, version, err := openPrograms(programs)
	closeFiles(files)
	if err != nil {
		return false, err
	}
	err = Within(func() error {
		is = isCurrent(dir, version)
		return nil
	})
	return is, err
}

// openPrograms opens programs in the pod's mount namespace. The version tells them from others.
func openPrograms(paths []string) (files []*os.File, version string, err error) {
	sum := sha256.New()
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return files, "", err
		}
		files = append(files, f)
		if _, err := io.Copy(sum, f); err != nil {
			return files, "", err
		}
		fmt.Fprintf(sum, "\x00%s\x00", filepath.Base(path))
	}
	return files, hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // only read from
	}
}

// isCurrent reports whether a version is the one that was installed last.
func isCurrent(dir, version string) bool {
	now, err := os.Readlink(filepath.Join(dir, current))
	return err == nil && now == version
}

// makeRoom mounts a file system on dir, unless one is there.
func makeRoom(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var own, above unix.Stat_t
	if err := errors.Join(unix.Stat(dir, &own), unix.Stat(filepath.Dir(dir), &above)); err != nil || own.Dev != above.Dev {
		return err
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	data := fmt.Sprintf("mode=0755,size=%d", room)
	err := unix.Mount("zramfs", dir, "tmpfs", flags, data+",noswap")
	if err == unix.EINVAL { // before Linux 6.4
		err = unix.Mount("zramfs", dir, "tmpfs", flags, data)
	}
	if err != nil {
		return fmt.Errorf("mount a file system for programs on %s: %w", dir, err)
	}
	return nil
}

// place writes the directory of a version, makes it the current one, and removes others.
func place(dir, version string, files []*os.File) error {
	fresh, err := os.MkdirTemp(dir, ".new-")
	if err != nil {
		return err
	}
	err = os.Chmod(fresh, 0o755)
	for _, f := range files {
		err = errors.Join(err, copyProgram(f, filepath.Join(fresh, filepath.Base(f.Name()))))
	}
	link := fresh + ".link"
	target := filepath.Join(dir, version)
	for _, step := range []func() error{
		func() error { return os.RemoveAll(target) }, // of an installation that was killed
		func() error { return os.Rename(fresh, target) },
		func() error { return os.Symlink(version, link) },
		func() error { return os.Rename(link, filepath.Join(dir, current)) },
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(fresh), os.RemoveAll(link))
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if name := e.Name(); name != version && name != current {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return err
}

func copyProgram(from *os.File, path string) (err error) {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return to.Chmod(0o755)
}

// Remove removes what Install has made.
func Remove(dir string) error {
	return Within(func() error {
		if err := unix.Unmount(dir, unix.UMOUNT_NOFOLLOW); err != nil && err != unix.EINVAL && err != unix.ENOENT {
			if err = unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
				return fmt.Errorf("unmount %s: %w", dir, err)
			}
		}
		if err := unix.Rmdir(dir); err != nil && err != unix.ENOENT {
			return fmt.Errorf("remove %s: %w", dir, err)
		}
		return nil
	})
}

// Exists reports whether the node has a file whose path matches a pattern of [filepath.Glob].
func Exists(pattern string) (is bool, err error) {
	err = Within(func() error {
		all, err := filepath.Glob(pattern)
		is = len(all) > 0
		return err
	})
	return is, err
}
