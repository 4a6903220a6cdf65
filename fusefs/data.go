// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"syscall"

	"github.com/zramfs/zramfs/store"
)

// A pageThread is what a thread of either transport keeps from one page request to the next.
type pageThread struct {
	pace pace
	// beforeWait is called before the thread waits for memory. It is made once, because making
	// it for each request would allocate. Immutable.
	beforeWait func()
}

// isPageRequest reports whether an operation on an inode of the data tree is on the page path.
func isPageRequest(op uint32, node uint64) bool {
	return node == dataNode && (op == opRead || op == opWrite || op == opFallocate)
}

// servePage carries out a page request: READ, WRITE or FALLOCATE on the data file, by either
// transport. argument follows the request's header, in is the data of a write. The answer's n
// bytes go into out, which may overlap in.
func (f *fileSystem) servePage(t *pageThread, op uint32, argument, in, out []byte) (n int, errno syscall.Errno) {
	w := f.store.Acquire()
	w.OnWait(t.beforeWait)
	w.SetEffort(t.pace.effort())
	n, errno = f.access(w, op, argument, in, out)
	w.Release()
	return n, errno
}

// access reads, writes or frees pages.
func (f *fileSystem) access(w *store.Worker, op uint32, argument, in, out []byte) (n int, errno syscall.Errno) {
	switch op {
	case opRead:
		off, size := transfer(argument)
		return f.read(w, off, out[:min(int(size), len(out))])
	case opWrite:
		off, size := transfer(argument)
		n, errno := f.write(w, off, in[:min(int(size), len(in))])
		if errno != 0 {
			return 0, errno
		}
		putWriteOut(out, n)
		return writeOutSize, 0
	}
	off, length, mode := rangeOf(argument)
	return 0, f.fallocate(w, mode, off, length)
}

// read reads the data file. It ends early at the end of the device only: the
// kernel takes a short read for the end of a file, and keeps that in mind. So one
// corrupt page fails all of the request.
func (f *fileSystem) read(w *store.Worker, off uint64, buf []byte) (int, syscall.Errno) {
	buf = buf[:clip(off, uint64(len(buf)), f.size)]
	for s := spansOf(off, len(buf)); s.next(); {
		if err := w.Read(s.page, s.off, buf[s.lo:s.hi]); err != nil {
			return 0, f.failed("read", err)
		}
	}
	return len(buf), 0
}

// write writes the data file. Like a block device it takes what lies before the
// end, and answers ENOSPC to what starts there or behind. It never answers an
// error with the count of what was written before it: the loop driver takes a
// short write for a whole one, and the rest would be lost.
func (f *fileSystem) write(w *store.Worker, off uint64, data []byte) (int, syscall.Errno) {
	if off >= f.size {
		return 0, syscall.ENOSPC
	}
	data = data[:clip(off, uint64(len(data)), f.size)]
	for s := spansOf(off, len(data)); s.next(); {
		if err := w.Write(s.page, s.off, data[s.lo:s.hi]); err != nil {
			return 0, f.failed("write", err)
		}
	}
	return len(data), 0
}
