// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// A wholeFile is a file that gets its name once it is complete, and is removed otherwise: also when
// this process is killed, if the file system has files without a name (O_TMPFILE). On others a
// killed process leaves a file whose name begins with newPrefix.
type wholeFile struct {
	*os.File
	name  string // the final name
	force bool
	// temporary is its name until then; empty for a file without a name.
	temporary string
}

// newPrefix begins the names of incomplete files.
const newPrefix = ".zramfs-new-"

// newWholeFile creates a file that only its owner may read. The name must be free or, with force, a
// regular file's, which it replaces.
func newWholeFile(name string, force bool) (*wholeFile, error) {
	return beginWholeFile(name, force, unnamedFile)
}

// beginWholeFile is newWholeFile with a function that makes a file without a name, or returns nil
// if it cannot.
func beginWholeFile(name string, force bool, unnamed func(name string) *os.File) (*wholeFile, error) {
	if err := mayTake(name, force); err != nil {
		return nil, err
	}
	if f := unnamed(name); f != nil {
		return &wholeFile{File: f, name: name, force: force}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), newPrefix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot create %s: no such directory", name)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot create %s: %w", name, bare(err))
	}
	return &wholeFile{File: f, name: name, force: force, temporary: f.Name()}, nil
}

// mayTake returns why a file cannot get a name, if that is known before it is written.
func mayTake(name string, force bool) error {
	switch info, err := os.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !force:
		return fmt.Errorf("%s: %w: --force replaces it", name, fs.ErrExist)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w and is not a regular file", name, fs.ErrExist)
	}
	return nil
}

// bare returns the cause of an error of package os, without the temporary name.
func bare(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// startSync starts writing a part of the file to disk, if the file system can.
func (f *wholeFile) startSync(begin, length int64) error {
	return f.syncRange(begin, length, unix.SYNC_FILE_RANGE_WRITE)
}

// sync waits until a part of the file is on disk, if the file system can tell.
func (f *wholeFile) sync(begin, length int64) error {
	return f.syncRange(begin, length,
		unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
}

func (f *wholeFile) syncRange(begin, length int64, how int) error {
	err := unix.SyncFileRange(int(f.Fd()), begin, length, how)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESPIPE) {
		return nil // finish syncs the whole file
	}
	return os.NewSyscallError("sync_file_range", err)
}

// unnamedFile makes a file without a name in the directory of name. It returns nil on any error:
// making a named file reports the same cause better.
func unnamedFile(name string) *os.File {
	fd, err := unix.Open(filepath.Dir(name), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Open(filepath.Dir(name), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	}
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := os.Stat(linkOf(f)); err != nil {
		_ = f.Close() // empty; without /proc it could never get a name
		return nil
	}
	return f
}

// linkOf returns the path that links an open descriptor; see open(2), O_TMPFILE.
func linkOf(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// link gives an unnamed file a free name.
func link(f *os.File, name string) error {
	return unix.Linkat(unix.AT_FDCWD, linkOf(f), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

// finish sets the file's size, stores it on disk and gives it its name.
func (f *wholeFile) finish(size int64) error {
	err := errors.Join(f.Truncate(size), f.Sync())
	if err != nil {
		return err
	}
	switch {
	case f.temporary == "" && !f.force:
		err = link(f.File, f.name)
	case f.force:
		err = f.replace()
	default:
		err = f.rename()
	}
	if err != nil {
		return fmt.Errorf("give %s its name: %w", f.name, err)
	}
	return nil
}

// replace renames the file over the one that has its name. An unnamed file cannot do that.
func (f *wholeFile) replace() (err error) {
	for try := 0; f.temporary == ""; try++ {
		temporary := temporaryName(f.name, try)
		if err = link(f.File, temporary); err == nil {
			f.temporary = temporary
		} else if !errors.Is(err, fs.ErrExist) || try == 1000 {
			return err
		}
	}
	if err = os.Rename(f.temporary, f.name); err == nil {
		f.temporary = ""
	}
	return err
}

// temporaryName returns a name next to another for a file of this process.
func temporaryName(name string, try int) string {
	return filepath.Join(filepath.Dir(name), newPrefix+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(try))
}

// rename replaces the temporary name by the final one, unless that is taken.
func (f *wholeFile) rename() error {
	err := unix.Renameat2(unix.AT_FDCWD, f.temporary, unix.AT_FDCWD, f.name, unix.RENAME_NOREPLACE)
	if err == nil {
		f.temporary = ""
	} else if errors.Is(err, unix.EINVAL) { // a file system without RENAME_NOREPLACE
		err = os.Link(f.temporary, f.name) // close removes the temporary name
	}
	return err
}

// close removes an incomplete file.
func (f *wholeFile) close() error {
	err := f.Close()
	if f.temporary != "" {
		err = errors.Join(err, os.Remove(f.temporary))
	}
	return err
}
