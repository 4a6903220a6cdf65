// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/safeopen"
)

// PartialSuffix ends the name of a snapshot that is not complete.
const PartialSuffix = ".partial"

// A partialFile is a file that gets its name once it is complete, and stays under that name with
// PartialSuffix otherwise, for another process to go on with it. It is written in parts; parts that
// are there already, the same, are not written again.
type partialFile struct {
	whole wholeFile
	at    int64  // where the next part goes
	kept  int64  // bytes that were there, the same
	fresh bool   // what comes next is not there
	there []byte // scratch
}

// errWhole means that a partial file had its final name as well.
var errWhole = errors.New("it was complete")

// newPartialFile creates a file for the name, or with resume takes the one that was left. Another
// process cannot take it at the same time.
func newPartialFile(name string, force, resume bool) (*partialFile, error) {
	f, err := openPartialFile(name, force, resume)
	if errors.Is(err, errWhole) { // which has the final name alone now
		return openPartialFile(name, force, resume)
	}
	return f, err
}

func openPartialFile(name string, force, resume bool) (*partialFile, error) {
	if err := mayTake(name, force); err != nil {
		return nil, err
	}
	temporary := name + PartialSuffix
	const flags = unix.O_RDWR | unix.O_NOFOLLOW | unix.O_CLOEXEC
	var file *os.File
	var err error
	if resume {
		file, err = safeopen.OpenOwn(temporary, flags)
	} else {
		if force {
			err = clearPartial(temporary)
		}
		if err == nil {
			file, err = os.OpenFile(temporary, flags|unix.O_CREAT|unix.O_EXCL, 0o600)
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%s is there from a save that did not end: --resume goes on with it, --force begins anew", temporary)
	case errors.Is(err, fs.ErrNotExist) && resume:
		return nil, fmt.Errorf("there is no %s to go on with: save without --resume", temporary)
	case err != nil:
		return nil, err
	}
	f := &partialFile{whole: wholeFile{File: file, name: name, force: force, temporary: temporary}, fresh: !resume}
	if err = f.take(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// clearPartial removes a partial file, also of another user, unless a save of this one writes it.
func clearPartial(temporary string) (err error) {
	old, err := safeopen.OpenOwn(temporary, unix.O_RDONLY|unix.O_NOFOLLOW)
	if err == nil {
		defer func() { err = errors.Join(err, old.Close()) }()
		if _, err := lockPartial(old, temporary); err != nil {
			return err
		}
	}
	if err := unix.Unlink(temporary); err != nil && !errors.Is(err, unix.ENOENT) {
		return &fs.PathError{Op: "remove", Path: temporary, Err: err}
	}
	return nil
}

// lockPartial makes an open partial file this process's own.
func lockPartial(f *os.File, temporary string) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, fmt.Errorf("%s is written by another process: %w", temporary, err)
	}
	switch is, err := os.Lstat(temporary); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil || !os.SameFile(info, is):
		return nil, fmt.Errorf("%s was completed by another process", temporary)
	}
	return info, nil
}

// take makes the file this process's own. Pages go to no file that others may read or have by
// another name.
func (f *partialFile) take() error {
	info, err := lockPartial(f.whole.File, f.whole.temporary)
	if err != nil {
		return err
	}
	// One file has both names where a save was killed between its two last steps: see finish.
	if has, err := os.Lstat(f.whole.name); err == nil && os.SameFile(info, has) {
		return errors.Join(f.discard(), errWhole)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Nlink > 1 || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s may be read by others (mode %o, %d names): --force begins anew", f.whole.temporary, info.Mode().Perm(), st.Nlink)
	}
	return nil
}

// begins reports whether the file holds nothing else than a part's beginning, or begins with it.
func (f *partialFile) begins(part []byte) (bool, error) {
	there := make([]byte, len(part))
	n, err := f.whole.ReadAt(there, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.HasPrefix(part, there[:n]), nil
}

// add adds a part. From the first part that is not there on the file is written anew.
func (f *partialFile) add(part []byte) error {
	if !f.fresh {
		if same, err := f.has(part); err != nil {
			return err
		} else if same {
			f.at, f.kept = f.at+int64(len(part)), f.kept+int64(len(part))
			return nil
		}
		f.fresh = true
	}
	n, err := f.whole.WriteAt(part, f.at)
	f.at += int64(n)
	return err
}

// has reports whether a part is where it would go.
func (f *partialFile) has(part []byte) (bool, error) {
	if cap(f.there) < len(part) {
		f.there = make([]byte, len(part))
	}
	there := f.there[:len(part)]
	n, err := f.whole.ReadAt(there, f.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return n == len(part) && bytes.Equal(there, part), nil
}

// finish gives the file its name once it is on the disk.
func (f *partialFile) finish() error {
	if err := f.whole.finish(f.at); err != nil {
		return err
	}
	if f.whole.temporary != "" { // a file system without RENAME_NOREPLACE
		if err := f.discard(); err != nil {
			return err
		}
	}
	dir, err := os.Open(filepath.Dir(f.whole.name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// close leaves a file that is not complete.
func (f *partialFile) close() error { return f.whole.Close() }

// discard removes a file that is not complete.
func (f *partialFile) discard() error { return os.Remove(f.whole.temporary) }
