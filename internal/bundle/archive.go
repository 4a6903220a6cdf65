// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

// Top is the directory that everything in the archive lies in.
const Top = "zramfs-bundle"

// Write writes the bundle as a tar archive, compressed by gzip. No file in it names a user.
func (b Bundle) Write(w io.Writer, now time.Time) error {
	packed := gzip.NewWriter(w)
	archive := tar.NewWriter(packed)
	for _, f := range b.Files {
		h := &tar.Header{Name: path.Join(Top, f.Name), Mode: 0o600, Size: int64(len(f.Data)), ModTime: now.Truncate(time.Second)}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		if _, err := archive.Write(f.Data); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

// Free returns an error if there is a file with that name, also a link that leads nowhere. Create
// checks this again.
func Free(name string) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s: %w: name a new file", name, os.ErrExist)
	}
	return nil
}

// Create makes a file that only its owner may read, of what write writes, and returns its size in
// bytes. It never replaces a file, and leaves none after an error.
func Create(name string, write func(io.Writer) error) (size int64, err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return 0, fmt.Errorf("%s: %w: name a new file", name, os.ErrExist)
	}
	if err != nil {
		return 0, err
	}
	err = write(f)
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		return 0, errors.Join(err, os.Remove(name))
	}
	return info.Size(), nil
}

// readme describes the files of a bundle.
func readme(files []File) File {
	var text strings.Builder
	text.WriteString("What zramfs doctor --bundle collected for a bug report.\n\n" +
		"There are no page contents in it: nothing that programs had in memory or in swap. Nor are there\n" +
		"environment variables, arguments of processes, the kernel's command line or the host name. There are\n" +
		"paths of devices and control groups, and names of processes that the kernel killed for memory. Read it\n" +
		"before you pass it on.\n\n")
	width := 0
	for _, f := range files {
		width = max(width, len(f.Name))
	}
	for _, f := range files {
		fmt.Fprintf(&text, "%-*s  %s\n", width, f.Name, f.About)
	}
	return File{"README.txt", "this list", []byte(text.String())}
}
