// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrBacking: the backing device cannot be used, or has failed. The system's answer, a
// syscall.Errno, is in the chain where there is one.
var ErrBacking = errors.New("backing device")

// A Backing is the file or block device that pages are written back to, and the key of what lies
// there. It is safe for concurrent use, but for Close.
type Backing struct {
	file   blockFile
	secret *Secret
	blocks uint64 // that it has room for, PageSize each; immutable
}

// A blockFile is the part of a file that a Backing uses.
type blockFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// OpenBacking opens a regular file or block device as a backing device, which no other process may
// use as one until the file is closed in all processes that have it. Its contents are overwritten.
// Pages are read and written without the page cache, or where the file system does not offer that,
// through it and with a write of each block to the disk before it counts. OpenBacking refuses what
// lies in memory that the kernel may swap, or is served by a process that it may swap: reading a
// page back would wait for the swap device that it came from.
//
// Errors wrap ErrBacking and the system's answer: EINVAL also for a file without room for a page,
// or on a file system that is refused; EBUSY for a file or device in use.
func OpenBacking(path string) (*os.File, error) {
	f, err := openBacking(path)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrBacking, path, err)
	}
	if err := fitForBacking(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%w %s: %w", ErrBacking, path, err), f.Close())
	}
	return f, nil
}

func openBacking(path string) (*os.File, error) {
	const flags = unix.O_RDWR | unix.O_EXCL | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NONBLOCK
	fd, err := unix.Open(path, flags|unix.O_DIRECT, 0)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.Open(path, flags|unix.O_DSYNC, 0)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func fitForBacking(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	var err error
	var fs unix.Statfs_t
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFBLK:
		err = errors.Join(unusedDevice(f, st.Rdev), fitDevice(st.Rdev, devicesBelow))
	case unix.S_IFREG:
		if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
			return err
		}
		err = errors.Join(fitFileSystem(int64(fs.Type)), fitDevice(st.Dev, devicesBelow))
	default:
		err = fmt.Errorf("neither a file nor a block device: %w", unix.ENOTBLK)
	}
	if err != nil {
		return err
	}
	if n, err := blocksOf(f); err != nil || n == 0 {
		return errors.Join(err, fmt.Errorf("no room for a page; make it larger, as by fallocate: %w", unix.EINVAL))
	}
	if err := claim(f, st.Mode); err != nil || st.Mode&unix.S_IFMT == unix.S_IFBLK {
		return err
	}
	return unusedFile(f, int64(fs.Type))
}

// fitDevice refuses a block device that lies on what is refused: a loop device, what is made of
// one, as a partition, and what lies in a file on one.
func fitDevice(number uint64, depth int) error {
	device := fmt.Sprintf("/sys/dev/block/%d:%d/", unix.Major(number), unix.Minor(number))
	for _, disk := range []string{device, device + "../"} { // of a partition the disk is above
		if name, err := os.ReadFile(disk + "loop/backing_file"); err == nil {
			return fitUnder(strings.TrimSuffix(strings.TrimSpace(string(name)), " (deleted)"), depth)
		}
		parts, _ := filepath.Glob(disk + "slaves/*/dev") // it refuses bad patterns alone
		for _, part := range parts {
			if n, err := deviceNumber(part); err == nil {
				if err := fitDevice(n, depth-1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// deviceNumber reads the number in a file "dev" of sysfs.
func deviceNumber(path string) (uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var major, minor uint32
	_, err = fmt.Sscanf(string(text), "%d:%d", &major, &minor)
	return unix.Mkdev(major, minor), err
}

// fitUnder refuses the file or device below a loop device. A path of another mount namespace may
// lead anywhere, so that depth bounds the search.
func fitUnder(path string, depth int) error {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil && unix.Stat(filepath.Dir(path), &st) != nil || depth <= 0 {
		return nil
	}
	if st.Mode&unix.S_IFMT == unix.S_IFBLK {
		return errors.Join(unclaimed(path, st.Mode), fitDevice(st.Rdev, depth-1))
	}
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil && unix.Statfs(filepath.Dir(path), &fs) != nil {
		return nil
	}
	if err := fitFileSystem(int64(fs.Type)); err != nil {
		return err
	}
	return errors.Join(unclaimed(path, st.Mode), fitDevice(st.Dev, depth-1))
}

// devicesBelow bounds how many devices lie on each other.
const devicesBelow = 16

func fitFileSystem(kind int64) error {
	switch kind {
	case unix.TMPFS_MAGIC:
		return fmt.Errorf("lies in memory, on a tmpfs; take one on a disk: %w", unix.EINVAL)
	case unix.FUSE_SUPER_MAGIC:
		return fmt.Errorf("lies on a FUSE file system, whose process may be swapped out; take one on a disk: %w", unix.EINVAL)
	}
	return nil
}

// blocksOf is how many pages a file or block device has room for.
func blocksOf(f *os.File) (uint64, error) {
	end, err := f.Seek(0, unix.SEEK_END)
	return uint64(max(end, 0)) / PageSize, err
}

// NewBacking makes a Backing of what OpenBacking and NewSecret have made, here or in another
// process, and takes charge of both.
func NewBacking(f *os.File, s *Secret) (*Backing, error) {
	n, err := blocksOf(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w %s: %w", ErrBacking, f.Name(), err), f.Close(), s.Close())
	}
	return &Backing{file: f, secret: s, blocks: n}, nil
}

// Close closes the file and forgets the key in this process.
func (b *Backing) Close() error { return errors.Join(b.file.Close(), b.secret.Close()) }

// read fills p from a block on. p lies on a page's boundary.
func (b *Backing) read(p []byte, block uint64) error {
	if _, err := b.file.ReadAt(p, int64(block*PageSize)); err != nil {
		return fmt.Errorf("%w: %w", ErrBacking, err)
	}
	return nil
}

// write writes p, whole pages, from a block on. p lies on a page's boundary.
func (b *Backing) write(p []byte, block uint64) error {
	if _, err := b.file.WriteAt(p, int64(block*PageSize)); err != nil {
		return fmt.Errorf("%w: %w", ErrBacking, err)
	}
	return nil
}

// makeBuffer makes n bytes that begin on a page's boundary, as direct I/O wants them, and are
// there.
func makeBuffer(n int) ([]byte, error) {
	p, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	err = os.NewSyscallError("madvise", unix.Madvise(p, unix.MADV_DONTDUMP)) // pages in the clear
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(p))
	}
	return p, nil
}

func dropBuffer(p []byte) error {
	if p == nil {
		return nil
	}
	return os.NewSyscallError("munmap", unix.Munmap(p))
}
