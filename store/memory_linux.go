// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/store/internal/image"
)

type memoryFile = *os.File

func openMemoryFile(kind MemoryKind) (*os.File, MemoryKind, error) {
	switch kind {
	case MemoryMemfd:
		f, err := openMemfd()
		return f, kind, err
	case MemoryNoswap:
		f, err := openNoswap()
		return f, kind, err
	case MemoryAuto:
		if f, err := openNoswap(); err == nil {
			return f, MemoryNoswap, nil
		}
		f, err := openMemfd()
		return f, MemoryMemfd, err
	}
	return nil, kind, fmt.Errorf("memory kind %q: want %s, %s or %s", kind, MemoryAuto, MemoryNoswap, MemoryMemfd)
}

func openMemfd() (*os.File, error) {
	fd, err := unix.MemfdCreate("zramfs", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "memfd:zramfs"), nil
}

// openNoswap makes a tmpfs that is mounted nowhere and a file on it. Its size
// is not limited (0): space is bounded by the store, and a limit would turn
// into SIGBUS what has to be an error of fallocate.
func openNoswap() (*os.File, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("fsopen", err)
	}
	defer closeFD(fs)
	if err := unix.FsconfigSetFlag(fs, "noswap"); err != nil {
		return nil, os.NewSyscallError("fsconfig noswap", err)
	}
	if err := unix.FsconfigSetString(fs, "size", "0"); err != nil {
		return nil, os.NewSyscallError("fsconfig size", err)
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, os.NewSyscallError("fsconfig create", err)
	}
	attrs := unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
	mnt, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attrs)
	if err != nil {
		return nil, os.NewSyscallError("fsmount", err)
	}
	defer closeFD(mnt) // the open file keeps the tmpfs alive
	fd, err := unix.Openat(mnt, "image", unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, os.NewSyscallError("openat", err)
	}
	return os.NewFile(uintptr(fd), "tmpfs:zramfs"), nil
}

// closeFD closes a descriptor that holds no data: nothing is lost if it fails.
func closeFD(fd int) { _ = unix.Close(fd) }

// File is the file itself, to be passed on to another process; nil where the
// image lies on the heap. It stays the Memory's.
func (m *Memory) File() *os.File { return m.file }

// adoptMemoryFile looks whether f can be of that kind: a file of a tmpfs that
// can be written. That a tmpfs has the option noswap cannot be seen; a memfd is
// told by its name, which nothing else on a tmpfs can have (memfd_create(2)).
func adoptMemoryFile(f *os.File, kind MemoryKind) (*os.File, error) {
	if kind != MemoryMemfd && kind != MemoryNoswap {
		return nil, fmt.Errorf("%w: memory kind %q: want %s or %s", ErrNotMemory, kind, MemoryNoswap, MemoryMemfd)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return nil, os.NewSyscallError("fstatfs", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, os.NewSyscallError("fstat", err)
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return nil, err
	}
	switch {
	case fs.Type != unix.TMPFS_MAGIC || st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%w: %s is no file of a tmpfs", ErrNotMemory, name)
	case flags&unix.O_ACCMODE != unix.O_RDWR:
		return nil, fmt.Errorf("%w: %s is not open for reading and writing", ErrNotMemory, name)
	case strings.HasPrefix(name, "/memfd:") != (kind == MemoryMemfd):
		return nil, fmt.Errorf("%w: %s is not of kind %s", ErrNotMemory, name, kind)
	}
	return f, nil
}

// reserve maps size bytes of address space. It takes no memory.
func (m *Memory) reserve(size int64) error {
	if m.mem != nil {
		return errors.New("memory is in use")
	}
	fd := int(m.file.Fd())
	if err := unix.Ftruncate(fd, size); err != nil {
		return os.NewSyscallError("ftruncate", err)
	}
	mem, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	// Secrets of every process lie here; a core dump must not.
	if err := unix.Madvise(mem, unix.MADV_DONTDUMP); err != nil {
		return errors.Join(os.NewSyscallError("madvise", err), unix.Munmap(mem))
	}
	m.mem = mem
	return nil
}

// readAt reads what is there without mapping it; what is not reads as zeros.
func (m *Memory) readAt(p []byte, off int64) error {
	n, err := m.file.ReadAt(p, off)
	clear(p[n:])
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// writeAt changes what is there.
func (m *Memory) writeAt(p []byte, off int64) error {
	_, err := m.file.WriteAt(p, off)
	return err
}

// length is the size of the image, as far as the file says.
func (m *Memory) length() (int64, error) {
	info, err := m.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// nextData is where the next bytes from off on begin that the file holds, and where they end.
// It is the end of the file where there are none.
func (m *Memory) nextData(off int64) (data, hole int64, err error) {
	if data, err = image.NextData(m.file, off); err != nil || data == int64(len(m.mem)) {
		return data, data, err
	}
	hole, err = m.file.Seek(data, unix.SEEK_HOLE)
	return data, hole, err
}

// allocate takes memory for n bytes at off and maps it, so that touching it
// later neither fails nor faults. The bytes are zeros. off and n are multiples of
// PageSize. After an error there is no memory at off.
func (m *Memory) allocate(off, n int64) error {
	err := m.populate(off, n)
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOMEM) || errors.Is(err, errNotLocked) {
		err = fmt.Errorf("%w: %w", ErrNoMemory, err)
	}
	return errors.Join(err, m.punch(off, n)) // some of it may have been taken
}

// populate is allocate for a range that may hold something, which stays.
func (m *Memory) populate(off, n int64) error {
	if err := m.fallocate(unix.FALLOC_FL_KEEP_SIZE, off, n); err != nil {
		return err
	}
	mem := m.mem[off : off+n]
	err := retried(func() error { return unix.Madvise(mem, unix.MADV_POPULATE_WRITE) })
	if errors.Is(err, unix.EINVAL) { // before Linux 5.14
		touch(mem)
	} else if err != nil {
		return os.NewSyscallError("madvise populate", err)
	}
	return m.lockInKeeper(off, n)
}

// adopt maps n bytes at off that another process took, in a tenth of the time that
// populate needs: reading lets the kernel map 16 pages a fault, and it maps what
// is shared writable. Holes are filled.
func (m *Memory) adopt(off, n int64) error {
	err := retried(func() error { return unix.Madvise(m.mem[off:off+n], unix.MADV_POPULATE_READ) })
	if errors.Is(err, unix.EINVAL) { // before Linux 5.14
		return m.populate(off, n)
	}
	if err != nil {
		return os.NewSyscallError("madvise populate", err)
	}
	return m.lockInKeeper(off, n)
}

// touch maps pages that exist, by reading them: a shared mapping of tmpfs is
// writable from the first fault on, and what they hold stays.
func touch(mem []byte) {
	var sum byte
	for i := 0; i < len(mem); i += PageSize {
		sum += mem[i]
	}
	runtime.KeepAlive(sum)
}

// punch gives the memory of n bytes at off back to the machine.
func (m *Memory) punch(off, n int64) error {
	return m.fallocate(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

func (m *Memory) fallocate(mode uint32, off, n int64) error {
	return os.NewSyscallError("fallocate", retried(func() error { return unix.Fallocate(int(m.file.Fd()), mode, off, n) }))
}

// retried calls a system call until no signal interrupts it: the Go runtime
// preempts goroutines with one, and a program may have taken SA_RESTART off that, as
// fusefs does. Older kernels do not restart fallocate on a tmpfs either way.
func retried(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// Taken is what the file really holds of the machine's memory, in bytes.
func (m *Memory) Taken() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(m.file.Fd()), &st); err != nil {
		return 0, os.NewSyscallError("fstat", err)
	}
	return st.Blocks * 512, nil
}

func (m *Memory) unmap() error {
	if m.mem == nil {
		return nil
	}
	mem := m.mem
	m.mem = nil
	return os.NewSyscallError("munmap", unix.Munmap(mem))
}
