// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Read reads the data file or an attribute file's snapshot. It ends early at the
// end of the device only: the kernel takes a short read for the end of a file,
// and keeps that in mind. So one corrupt page fails all of the request.
func (f *fileSystem) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	if in.NodeId != dataNode {
		return f.readAttribute(in, buf)
	}
	buf = buf[:clip(in.Offset, uint64(len(buf)), f.size)]
	w := f.store.Acquire()
	defer w.Release()
	for s := spansOf(in.Offset, len(buf)); s.next(); {
		if err := w.Read(s.page, s.off, buf[s.lo:s.hi]); err != nil {
			return nil, f.failed("read", err)
		}
	}
	return f.results.take(buf), fuse.OK
}

// Write is Writev of one piece.
func (f *fileSystem) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	one := [1][]byte{data}
	return f.Writev(cancel, in, one[:])
}

// Writev writes the data file. Like a block device it takes what lies before the
// end, and answers ENOSPC to what starts there or behind. It never answers an
// error with the count of what was written before it: the loop driver takes a
// short write for a whole one, and the rest would be lost.
func (f *fileSystem) Writev(_ <-chan struct{}, in *fuse.WriteIn, data [][]byte) (uint32, fuse.Status) {
	if in.NodeId != dataNode {
		return 0, fuse.EACCES
	}
	if in.Offset >= f.size {
		return 0, fuse.Status(syscall.ENOSPC)
	}
	w := f.store.Acquire()
	defer w.Release()
	at := in.Offset
	for _, piece := range data {
		piece = piece[:clip(at, uint64(len(piece)), f.size)]
		for s := spansOf(at, len(piece)); s.next(); {
			if err := w.Write(s.page, s.off, piece[s.lo:s.hi]); err != nil {
				return 0, f.failed("write", err)
			}
		}
		at += uint64(len(piece))
	}
	return uint32(at - in.Offset), fuse.OK
}

// Fsync has nothing to do: what was written is in the image. The file system
// must have it, or the loop driver offers no flush.
func (f *fileSystem) Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status {
	return fuse.OK
}
