// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/store"
)

// A program is the executable of workers: this one, or one that an upgrade named. Its file stays
// open, so that the next worker can be started from it also after it was renamed or removed. The
// image is the one that its workers serve. The keeper keeps the contents of a file in memory that
// may lie on a tmpfs: the kernel reads them for each new worker, and they may be in the very swap
// that waits for that worker.
type program struct {
	file  *os.File
	image *image
	held  []byte // the mapping of the file, nil where nothing is held
}

// hold maps a file with every page present if it lies on a tmpfs, or on an overlay, which may have
// it on one, as those of live systems do. The kernel reads other files from where they are kept.
// The pages stay, since the keeper's memory is locked.
func hold(f *os.File) ([]byte, error) {
	var fs unix.Statfs_t
	err := unix.Fstatfs(int(f.Fd()), &fs)
	if err != nil || fs.Type != unix.TMPFS_MAGIC && fs.Type != unix.OVERLAYFS_SUPER_MAGIC {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("keep %s in memory: %w", f.Name(), err)
	}
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Madvise(mem, unix.MADV_POPULATE_READ)
	}
	if err == unix.EINVAL { // before Linux 5.14
		sum := byte(0)
		for i := 0; i < len(mem); i += store.PageSize {
			sum += mem[i]
		}
		runtime.KeepAlive(sum)
		return mem, nil
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep %s in memory: %w", f.Name(), err), unix.Munmap(mem))
	}
	return mem, nil
}

// holdOwn holds the program that the keeper runs, for as long as the keeper lives. A keeper without
// it works: the file may be anywhere.
func (k *keeper) holdOwn() {
	f, err := os.Open("/proc/self/exe")
	if err == nil {
		_, err = hold(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		k.logger.Warn("a new worker may wait for the program's file: " + err.Error())
	}
}

func (p program) path() string {
	if p.file == nil {
		return "/proc/self/exe"
	}
	return fmt.Sprintf("/proc/%d/fd/%d", pid(), p.file.Fd())
}

// programHead is the part of a program that openProgram reads, in bytes.
const programHead = 64 << 10

// openProgram opens the program at a path. It takes as long as the file system does, but does not
// wait for the other end of a FIFO or device.
func openProgram(path string) (program, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	for err == unix.EINTR {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return program{}, fmt.Errorf("open the new program %s: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0) {
		err = errors.New("not an executable file")
	}
	if err == nil {
		// A file system that hangs does so here, off the goroutine of the supervision, and not when
		// the program is executed.
		if _, err = f.ReadAt(make([]byte, programHead), 0); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return program{}, errors.Join(fmt.Errorf("new program %s: %w", path, err), f.Close())
	}
	held, err := hold(f)
	if err != nil {
		return program{}, errors.Join(err, f.Close())
	}
	return program{file: f, held: held}, nil
}

// again returns the same program, for the same image, with a descriptor of its own.
func (p program) again() (program, error) {
	if p.file == nil {
		return p, nil
	}
	fd, err := unix.FcntlInt(p.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return program{}, fmt.Errorf("duplicate the program's descriptor: %w", err)
	}
	return program{file: os.NewFile(uintptr(fd), p.file.Name()), image: p.image}, nil
}

// close closes the file, which a running program does not need.
func (p program) close() {
	if p.file != nil {
		_ = p.file.Close() // only executed from
	}
	if len(p.held) > 0 && unix.Munmap(p.held) != nil {
		return // the mapping stays until the keeper ends
	}
}
