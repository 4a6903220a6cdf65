// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// attachTries and maxPause bound the waiting for a free device: at most about a second in all.
	attachTries = 64
	maxPause    = 20 * time.Millisecond
)

// attach tries free devices until it gets one.
func attach(backing string, cfg Config) (*Device, error) {
	file, err := openBacking(backing)
	if err != nil {
		return nil, err
	}
	defer closeQuietly(file)
	control, err := openControl()
	if err != nil {
		return nil, err
	}
	defer closeQuietly(control)

	for try := 1; ; try++ {
		d, err := attachFree(control, file, backing, cfg)
		if err == nil || try == attachTries || !lostRace(err) {
			return d, err
		}
		// Processes that lost the same race must not meet again at the next device.
		time.Sleep(rand.N(min(time.Duration(try)*time.Millisecond, maxPause)))
	}
}

// lostRace says whether another attempt may succeed: another process took the device (EBUSY),
// removed it (ENXIO), or has read from it so that its block size cannot change just now (EAGAIN).
func lostRace(err error) bool {
	return errors.Is(err, unix.EBUSY) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EAGAIN)
}

// openBacking opens the file a device is to be put on. It keeps the descriptor out of package os,
// whose poller would otherwise ask the file system whether the file can be waited for.
func openBacking(path string) (int, error) {
	fd, err := openRetry(path, unix.O_RDWR)
	if err != nil {
		return -1, fmt.Errorf("open backing file: %w", err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		if t := st.Mode & unix.S_IFMT; t != unix.S_IFREG && t != unix.S_IFBLK {
			err = fmt.Errorf("%w: neither a regular file nor a block device", ErrInvalid)
		}
	}
	if err != nil {
		closeQuietly(fd)
		return -1, err
	}
	return fd, nil
}

// attachFree asks for a free device and sets it up, once. Autoclear makes closing the device undo
// everything.
func attachFree(control, file int, backing string, cfg Config) (*Device, error) {
	n, err := unix.IoctlRetInt(control, unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return nil, fmt.Errorf("ask for a free loop device: %w", err)
	}
	fd, err := openLoop(n)
	if err != nil {
		return nil, err
	}
	dev := os.NewFile(uintptr(fd), devPath(n))
	if err := configure(fd, file, backing, cfg); err != nil {
		return nil, withUndo(fmt.Errorf("configure %s: %w", devPath(n), err), dev.Close())
	}
	if err := verify(n, cfg); err != nil {
		return nil, withUndo(fmt.Errorf("check %s: %w", devPath(n), err), dev.Close())
	}
	return &Device{file: dev, number: n}, nil
}

// tune sets what cfg asks of the device's queue. Each change takes the kernel some ten milliseconds
// in which it waits for requests that may be under way.
func (d *Device) tune(cfg Config) {
	if err := stopWriteThrottling(d.number); err != nil {
		d.warnings = append(d.warnings, fmt.Errorf("turn off write-back throttling of %s: %w", d.Path(), err))
	}
	if cfg.DiscardMax == 0 {
		return
	}
	if err := limitDiscard(d.number, cfg.DiscardMax); err != nil {
		d.warnings = append(d.warnings, fmt.Errorf("limit discard requests of %s to %d bytes: %w", d.Path(), cfg.DiscardMax, err))
	}
}

// configure puts the open device fd on the open file, in one call where the kernel has it (since
// 5.8). Older kernels know no such ioctl and answer EINVAL or, behind some filters, ENOTTY.
func configure(fd, file int, backing string, cfg Config) error {
	info := unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR, Offset: cfg.Offset, Sizelimit: cfg.SizeLimit}
	copy(info.File_name[:len(info.File_name)-1], backing) // for display; the kernel has the file itself
	if cfg.Legacy {
		return configureLegacy(fd, file, info, cfg)
	}
	c := unix.LoopConfig{Fd: uint32(file), Size: cfg.BlockSize, Info: info}
	if !cfg.NoDirectIO {
		c.Info.Flags |= unix.LO_FLAGS_DIRECT_IO
	}
	err := unix.IoctlLoopConfigure(fd, &c)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTTY) {
		return configureLegacy(fd, file, info, cfg)
	}
	return err
}

// configureLegacy does the same by the calls of older kernels. Autoclear comes first, so that from
// then on a dead process leaves nothing behind.
func configureLegacy(fd, file int, info unix.LoopInfo64, cfg Config) error {
	if err := unix.IoctlSetInt(fd, unix.LOOP_SET_FD, file); err != nil {
		return fmt.Errorf("set file: %w", err)
	}
	if err := configureAttached(fd, info, cfg); err != nil {
		return withUndo(err, unix.IoctlSetInt(fd, unix.LOOP_CLR_FD, 0))
	}
	return nil
}

// configureAttached sets what LOOP_SET_FD leaves at its default.
func configureAttached(fd int, info unix.LoopInfo64, cfg Config) error {
	if err := unix.IoctlLoopSetStatus64(fd, &info); err != nil {
		return fmt.Errorf("set autoclear, offset and size limit: %w", err)
	}
	if err := unix.IoctlSetInt(fd, unix.LOOP_SET_BLOCK_SIZE, int(cfg.BlockSize)); err != nil {
		return fmt.Errorf("set block size %d: %w", cfg.BlockSize, err)
	}
	if cfg.NoDirectIO {
		return nil
	}
	err := unix.IoctlSetInt(fd, unix.LOOP_SET_DIRECT_IO, 1)
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: %w", ErrNoDirectIO, err)
	}
	return err
}

// verify compares the device with the request: the kernel turns unsupported direct I/O off
// silently.
func verify(n int, cfg Config) error {
	info, err := inspect(n)
	if err != nil {
		return err
	}
	if !cfg.NoDirectIO && !info.DirectIO {
		return ErrNoDirectIO
	}
	if info.BlockSize != uint64(cfg.BlockSize) {
		return fmt.Errorf("block size is %d instead of %d", info.BlockSize, cfg.BlockSize)
	}
	if info.Offset != cfg.Offset || info.SizeLimit != cfg.SizeLimit {
		return fmt.Errorf("offset and size limit are %d and %d instead of %d and %d", info.Offset, info.SizeLimit, cfg.Offset, cfg.SizeLimit)
	}
	// The kernel silently makes the device as small as the file requires.
	if cfg.SizeLimit != 0 && info.Size != cfg.SizeLimit || cfg.Offset != 0 && info.Size == 0 {
		return fmt.Errorf("%w: the file has only %d bytes behind offset %d", ErrInvalid, info.Size, cfg.Offset)
	}
	return nil
}

// identify asks for the file of loop device n. The device is opened for reading alone: to close one
// that was opened for writing makes udev look at it again.
func identify(n int) (id FileID, path string, err error) {
	if _, _, err := backingFile(n); err != nil {
		return id, "", err // before a node is made for nothing
	}
	fd, err := openNode(devPath(n), sysPath(n, "dev"), unix.S_IFBLK, unix.O_RDONLY)
	if err != nil {
		return id, "", err
	}
	defer closeQuietly(fd)
	info, err := unix.IoctlLoopGetStatus64(fd)
	if errors.Is(err, unix.ENXIO) {
		return id, "", fmt.Errorf("%w: %w", ErrNotAttached, err)
	}
	if err != nil {
		return id, "", fmt.Errorf("get status: %w", err)
	}
	return FileID{Device: info.Device, Inode: info.Inode}, unix.ByteSliceToString(info.File_name[:]), nil
}

// resize looks at the file first: kernels before 6.16 take the size that they have cached.
func resize(n int, backing string) error {
	if _, _, err := backingFile(n); err != nil {
		return err // before a node is made for nothing
	}
	if _, err := os.Stat(backing); err != nil {
		return err
	}
	fd, err := openLoop(n)
	if err != nil {
		return err
	}
	defer closeQuietly(fd)
	if err := unix.IoctlSetInt(fd, unix.LOOP_SET_CAPACITY, 0); err != nil {
		return fmt.Errorf("set capacity: %w", err)
	}
	return nil
}

// detach opens loop device n only to let it go.
func detach(n int) error {
	if _, _, err := backingFile(n); err != nil {
		return err // before a node is made for nothing
	}
	fd, err := openLoop(n)
	if err != nil {
		return err
	}
	err = clearAndClose(os.NewFile(uintptr(fd), devPath(n)))
	if errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("%w: %w", ErrNotAttached, err)
	}
	return err
}

// isClaimed opens loop device n for itself alone, which the kernel refuses where another user has
// done that.
func isClaimed(n int) (bool, error) {
	if _, _, err := backingFile(n); err != nil {
		if errors.Is(err, ErrNotAttached) {
			err = nil
		}
		return false, err // before a node is made for nothing
	}
	fd, err := openNode(devPath(n), sysPath(n, "dev"), unix.S_IFBLK, unix.O_RDONLY|unix.O_EXCL)
	switch {
	case errors.Is(err, unix.EBUSY):
		return true, nil
	case errors.Is(err, unix.ENXIO):
		return false, nil
	case err != nil:
		return false, err
	}
	closeQuietly(fd)
	return false, nil
}

// clearAndClose takes the file off an open device. The kernel does it when the last user closes the
// device, which may be us.
func clearAndClose(dev *os.File) error {
	return withUndo(unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_CLR_FD, 0), dev.Close())
}

// withUndo adds to err, on the same line, the error of undoing its effects. Either may be nil.
func withUndo(err, undo error) error {
	if err == nil || undo == nil {
		return errors.Join(err, undo)
	}
	return fmt.Errorf("%w; then %w", err, undo)
}

// closeQuietly closes a descriptor that was only passed to the kernel, which holds the file itself
// by now: an error of close(2) says nothing about the device.
func closeQuietly(fd int) { _ = unix.Close(fd) }

// Keep lets the device stay attached when its last user closes it: Detach ends it.
func (d *Device) Keep() error {
	if err := keep(int(d.file.Fd())); err != nil {
		return fmt.Errorf("keep %s attached: %w", d.Path(), err)
	}
	return nil
}

// keepNumber is keep for loop device n.
func keepNumber(n int) error {
	fd, err := openLoop(n)
	if err != nil {
		return err
	}
	err = keep(fd)
	closeQuietly(fd)
	if errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("%w: %w", ErrNotAttached, err)
	}
	return err
}

// keep takes autoclear off an open device.
func keep(fd int) error {
	info, err := unix.IoctlLoopGetStatus64(fd)
	if err == nil {
		info.Flags &^= unix.LO_FLAGS_AUTOCLEAR
		err = unix.IoctlLoopSetStatus64(fd, info)
	}
	return err
}
