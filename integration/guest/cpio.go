// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"fmt"
	"io"
	"os"
	"path"
)

// A cpioWriter writes the archive that a kernel unpacks as its first root file system: format newc,
// described in Documentation/driver-api/early-userspace/buffer-format.rst of Linux. Not safe for
// concurrent use.
type cpioWriter struct {
	to     io.Writer
	offset int64
	inode  int
	made   map[string]bool // directories
	err    error           // the first one; all calls after it do nothing
}

func newCpio(to io.Writer) *cpioWriter {
	return &cpioWriter{to: to, made: map[string]bool{"/": true, ".": true}}
}

// dir adds a directory, and those above it, once.
func (w *cpioWriter) dir(name string) {
	if w.made[name] {
		return
	}
	w.made[name] = true
	w.dir(path.Dir(name))
	w.entry(name, 0o040755, 0, nil)
}

// file adds a file with the permissions and the content of one of the host.
func (w *cpioWriter) file(name, from string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	w.dir(path.Dir(name))
	w.entry(name, 0o100000|uint32(info.Mode().Perm()), info.Size(), file)
	return w.err
}

// close ends the archive.
func (w *cpioWriter) close() error {
	w.entry("/TRAILER!!!", 0, 0, nil)
	return w.err
}

// entry writes one header, name and content; mode has the bits of stat.
func (w *cpioWriter) entry(name string, mode uint32, size int64, from io.Reader) {
	w.inode++
	name = name[1:]
	w.write(fmt.Appendf(nil, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		w.inode, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, len(name)+1, 0, name))
	w.pad()
	if from != nil && w.err == nil {
		var n int64
		n, w.err = io.CopyN(w.to, from, size)
		w.offset += n
	}
	w.pad()
}

func (w *cpioWriter) pad() {
	w.write(make([]byte, (4-w.offset%4)%4))
}

func (w *cpioWriter) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
		w.offset += int64(len(b))
	}
}
