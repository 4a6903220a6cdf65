// SPDX-License-Identifier: Apache-2.0

package imaging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// A wholeFile is a file that gets its name when all of it is there, and goes if it never is: also
// when this process is killed, where the file system has files without a name. Elsewhere a killed
// process leaves one whose name begins with newPrefix.
type wholeFile struct {
	*os.File
	name  string // that it is to have
	force bool
	// temporary is the name that it has until then; nothing where it has none.
	temporary string
}

// newPrefix is what the names of files begin with that are not whole yet.
const newPrefix = ".zramfs-new-"

// newWholeFile begins a file for its owner alone. Nothing may have its name, but, with force, a
// regular file, which it will replace.
func newWholeFile(name string, force bool) (*wholeFile, error) {
	return beginWholeFile(name, force, unnamedFile)
}

// beginWholeFile is newWholeFile with a way to make a file without a name, which is nil where there
// is none.
func beginWholeFile(name string, force bool, unnamed func(name string) *os.File) (*wholeFile, error) {
	switch info, err := os.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !force:
		return nil, fmt.Errorf("%s: %w: --force replaces it", name, fs.ErrExist)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w, and is no regular file", name, fs.ErrExist)
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

// bare is the reason of an error of package os, without the name of a temporary file.
func bare(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// startSync begins to write a part of the file to its disk, where the file system can do that.
func (f *wholeFile) startSync(begin, length int64) error {
	return f.syncRange(begin, length, unix.SYNC_FILE_RANGE_WRITE)
}

// sync waits until a part of the file is on its disk, where the file system can say that.
func (f *wholeFile) sync(begin, length int64) error {
	return f.syncRange(begin, length,
		unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
}

func (f *wholeFile) syncRange(begin, length int64, how int) error {
	err := unix.SyncFileRange(int(f.Fd()), begin, length, how)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESPIPE) {
		return nil // finish does it for all
	}
	return os.NewSyscallError("sync_file_range", err)
}

// unnamedFile makes a file beside name that has none. It is nil where that cannot be, whatever the
// reason: to make one with a name tells the same reason better.
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
		_ = f.Close() // nothing is in it; without /proc it would never get a name
		return nil
	}
	return f
}

// linkOf is where the file of an open descriptor can be linked from; see open(2), O_TMPFILE.
func linkOf(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// link gives a file without a name one that nothing has.
func link(f *os.File, name string) error {
	return unix.Linkat(unix.AT_FDCWD, linkOf(f), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

// finish gives the file its size and its name, once it is stored for good.
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

// replace puts the file in the place of what has its name. Only what has a name can do that.
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

// temporaryName is a name beside another for a file of this process.
func temporaryName(name string, try int) string {
	return filepath.Join(filepath.Dir(name), newPrefix+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(try))
}

// rename gives the file its name in place of the temporary one, unless something has that name.
func (f *wholeFile) rename() error {
	err := unix.Renameat2(unix.AT_FDCWD, f.temporary, unix.AT_FDCWD, f.name, unix.RENAME_NOREPLACE)
	if err == nil {
		f.temporary = ""
	} else if errors.Is(err, unix.EINVAL) { // not every file system can do that
		err = os.Link(f.temporary, f.name) // the other name goes with close
	}
	return err
}

// close removes what was not finished.
func (f *wholeFile) close() error {
	err := f.Close()
	if f.temporary != "" {
		err = errors.Join(err, os.Remove(f.temporary))
	}
	return err
}
