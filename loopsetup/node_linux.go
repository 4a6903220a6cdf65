// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The control device of the loop driver, and where the kernel gives its number.
const (
	controlPath = "/dev/loop-control"
	controlDev  = "/sys/class/misc/loop-control/dev"
)

// openControl opens the control device. Where the driver is a module, opening loads it.
func openControl() (int, error) {
	fd, err := openNode(controlPath, controlDev, unix.S_IFCHR, unix.O_RDWR)
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) || errors.Is(err, fs.ErrNotExist) {
		return -1, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	return fd, err
}

// openLoop opens loop device n.
func openLoop(n int) (int, error) {
	return openNode(devPath(n), sysPath(n, "dev"), unix.S_IFBLK, unix.O_RDWR)
}

// openNode opens the device node path with flags and makes it first where it is missing; sysDev is
// the file in which the kernel gives its number. A node that is something else is refused: in a
// container, /dev may come from anywhere.
func openNode(path, sysDev string, kind uint32, flags int) (int, error) {
	fd, err := openRetry(path, flags)
	if errors.Is(err, unix.ENOENT) {
		if err := makeNode(path, sysDev, kind); err != nil {
			return -1, err
		}
		fd, err = openRetry(path, flags)
	}
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	if err := checkNode(fd, sysDev, kind); err != nil {
		closeQuietly(fd)
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	return fd, nil
}

// makeNode makes a device node for root alone.
func makeNode(path, sysDev string, kind uint32) error {
	dev, err := readDev(sysDev)
	if err != nil {
		return err
	}
	err = unix.Mknod(path, kind|0o600, int(dev))
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make device node %s: %w", path, err)
	}
	return nil
}

// checkNode says whether the open fd is the device that sysDev describes.
func checkNode(fd int, sysDev string, kind uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	dev, err := readDev(sysDev)
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != kind || st.Rdev != dev {
		return fmt.Errorf("%w: the node is not device %d:%d", ErrInvalid, unix.Major(dev), unix.Minor(dev))
	}
	return nil
}

// readDev returns the device number in a file of the form "major:minor".
func readDev(path string) (uint64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var major, minor uint32
	if _, err := fmt.Sscanf(strings.TrimSpace(string(b)), "%d:%d", &major, &minor); err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return unix.Mkdev(major, minor), nil
}

// openRetry opens a file, again where a signal came between: the Go runtime sends itself signals,
// and a FUSE server may answer them with EINTR.
func openRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
