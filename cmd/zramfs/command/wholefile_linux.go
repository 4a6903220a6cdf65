// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A wholeFile is a file that gets its name when all of it is there, and goes if it never is.
type wholeFile struct {
	*os.File
	name  string
	force bool
	named bool
}

// newWholeFile begins a file for its owner alone. Nothing may have its name, but, with force, a regular file, which it will replace.
func newWholeFile(name string, force bool) (*wholeFile, error) {
	switch info, err := os.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !force:
		return nil, fmt.Errorf("%s: %w: --%s replaces it", name, fs.ErrExist, flagForce)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w, and is no regular file", name, fs.ErrExist)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".zramfs-new-")
	if err != nil {
		return nil, err
	}
	return &wholeFile{File: f, name: name, force: force}, nil
}

// finish gives the file its size and its name, once it is stored for good.
func (f *wholeFile) finish(size int64) error {
	if err := errors.Join(f.Truncate(size), f.Sync()); err != nil {
		return err
	}
	flags := uint(unix.RENAME_NOREPLACE)
	if f.force {
		flags = 0
	}
	err := unix.Renameat2(unix.AT_FDCWD, f.Name(), unix.AT_FDCWD, f.name, flags)
	if errors.Is(err, unix.EINVAL) && !f.force { // not every file system can do that
		if err = os.Link(f.Name(), f.name); err == nil {
			return nil // the other name goes with close
		}
	}
	if err != nil {
		return fmt.Errorf("give %s its name: %w", f.name, err)
	}
	f.named = true
	return nil
}

// close removes what was not finished.
func (f *wholeFile) close() error {
	err := f.Close()
	if !f.named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
