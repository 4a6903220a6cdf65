// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A program is the executable of workers: this one, or one that an upgrade named. Its file stays
// open, so that the next worker can be started from it also after it was renamed or removed. The
// image is the one that its workers serve.
type program struct {
	file  *os.File
	image *image
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
	return program{file: f}, nil
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
	return program{os.NewFile(uintptr(fd), p.file.Name()), p.image}, nil
}

// close closes the file, which a running program does not need.
func (p program) close() {
	if p.file != nil {
		_ = p.file.Close() // only executed from
	}
}
