// SPDX-License-Identifier: Apache-2.0

// Package safeopen opens regular files that a command line names. It refuses pipes, whose writer
// might never come, devices, which opening may change, and, on request, files of other users.
package safeopen

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Open is [os.OpenFile] for regular files alone. It does not wait for the writer of a pipe. A new
// file has mode 0600.
func Open(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file: name another", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenOwn is Open for a file that belongs to the user of this process or to root. Another user's
// file may change under the process, and shows that user what the process writes.
func OpenOwn(path string, flag int) (*os.File, error) {
	f, err := Open(path, flag)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && int(s.Uid) != os.Geteuid() {
			err = fmt.Errorf("%s belongs to another user (UID %d): name another file", path, s.Uid)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read returns the content of a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return ReadFrom(f, limit)
}

// ReadFrom returns the content of f, of at most limit bytes, and closes f.
func ReadFrom(f *os.File, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", f.Name(), limit)
	}
	return text, errors.Join(err, f.Close())
}
