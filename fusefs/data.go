// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"syscall"

	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/store"
)

// A pageThread is what a thread keeps from one page request to the next.
type pageThread struct {
	pace pace
	// beforeWait is called before the thread waits for memory or for the backing device. It is
	// made once, because making it for each request would allocate. Immutable.
	beforeWait func(forMemory bool)
	stored     telemetry.Stored // what the pages of the last request are stored as
}

// isPageRequest reports whether an operation on an inode of the data tree is on the page path.
func isPageRequest(op uint32, node uint64) bool {
	return node == dataNode && (op == opRead || op == opWrite || op == opFallocate)
}

// servePage carries out a page request: READ, WRITE or FALLOCATE on the data file. argument follows
// the request's header, in is the data of a write. The answer's n bytes go into out.
func (f *fileSystem) servePage(t *pageThread, op uint32, argument, in, out []byte) (n int, errno syscall.Errno) {
	w := f.store.Acquire()
	w.OnWait(t.beforeWait)
	w.SetEffort(t.pace.effort())
	switch op {
	case opRead:
		off, size := transfer(argument)
		n, errno = f.read(w, off, out[:min(int(size), len(out))])
	case opWrite:
		off, size := transfer(argument)
		if n, errno = f.write(w, off, in[:min(int(size), len(in))]); errno == 0 {
			putWriteOut(out, n)
			n = writeOutSize
		}
	default:
		off, length, mode := rangeOf(argument)
		errno = f.fallocate(w, mode, off, length)
	}
	met := w.Result()
	t.stored = telemetry.Stored{Codec: uint8(met.Codec), Bytes: met.Bytes}
	w.Release()
	return n, errno
}

// read reads the data file. Only the end of the device ends a read early: the kernel takes a short
// read for the end of the file, and remembers it. So one corrupt page fails the whole request.
func (f *fileSystem) read(w *store.Worker, off uint64, buf []byte) (int, syscall.Errno) {
	buf = buf[:clip(off, uint64(len(buf)), f.size)]
	for s := spansOf(off, len(buf)); s.next(); {
		if err := w.Read(s.page, s.off, buf[s.lo:s.hi]); err != nil {
			return 0, f.failed("read", err)
		}
	}
	return len(buf), 0
}

// write writes the data file. Like a block device it writes the bytes before the end, and answers
// ENOSPC to a write that starts at the end or behind. After an error it does not return the count
// of bytes already written: the loop driver takes a short write for a whole one and would lose the
// rest.
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
