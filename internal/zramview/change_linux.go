// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/loopsetup"
)

// change writes to an attribute of a device, and has its loop device follow.
func (t *table) change(z *zram, name string, text []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	write := func() error {
		path := filepath.Join(t.dir, "block", z.name, name)
		_, err := helper.CallTimeout(changeTime, helper.Write, path, string(text))
		return err
	}
	switch name {
	case "reset":
		return t.without(z, write)
	case "disksize":
		if err := write(); err != nil {
			return err
		}
		_, err := helper.CallTimeout(changeTime, helper.Resize, z.loop, z.data)
		return err
	}
	return write()
}

// without calls f while no loop device is on the data file, since a device is neither reset nor
// removed while its data file is open. The error is EBUSY for a loop device in use. Afterwards
// there is one again, with the lowest free number: most likely the same.
func (t *table) without(z *zram, f func() error) error {
	if err := inUse(z.loop); err != nil {
		return err
	}
	info, err := loopsetup.Inspect(z.loop)
	if err != nil {
		return err
	}
	if err := z.detach(); err != nil {
		return err
	}
	err = f()
	if attached := t.attach(z, nil); attached != nil {
		return errors.Join(err, attached)
	}
	if z.held != nil && !info.Autoclear {
		err = errors.Join(err, z.held.Keep())
	}
	return err
}

// letGoTime bounds the wait for a loop device to be detached, and letGoPause is between two looks.
const (
	letGoTime  = 500 * time.Millisecond
	letGoPause = 5 * time.Millisecond
)

// detach takes the loop device off the data file; the error is EBUSY if another process has it
// open, and it then stays as it is.
func (z *zram) detach() error {
	file, err := z.open()
	if err != nil {
		return err
	}
	shared := z.shared != nil
	if shared {
		_ = z.shared.Close() // file has it open
		z.shared = nil
	}
	fd := int(file.Fd())
	status, err := unix.IoctlLoopGetStatus64(fd)
	if err == nil {
		err = unix.IoctlSetInt(fd, unix.LOOP_CLR_FD, 0)
	}
	if err == nil && z.sharedStill() {
		err = errors.Join(unix.EBUSY, unix.IoctlLoopSetStatus64(fd, status)) // it has autoclear now
	}
	switch {
	case shared && err != nil:
		z.shared = file
	case z.held == nil || err == nil:
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return err
	}
	z.held = nil
	for end := time.Now().Add(letGoTime); !z.detached(); time.Sleep(letGoPause) {
		if time.Now().After(end) {
			return unix.EBUSY
		}
	}
	return nil
}

// open returns the open loop device, which is the table's if z is held.
func (z *zram) open() (*os.File, error) {
	if z.held != nil {
		return z.held.File(), nil
	}
	return os.OpenFile(z.loop, os.O_RDWR, 0)
}

// detached reports whether the loop device has no file.
func (z *zram) detached() bool {
	_, err := loopsetup.Inspect(z.loop)
	return errors.Is(err, loopsetup.ErrNotAttached)
}

// sharedStill reports, after LOOP_CLR_FD, whether another process has the loop device open: it then
// takes further opens. Otherwise the kernel has detached it, or refuses opens until it is closed.
func (z *zram) sharedStill() bool {
	if z.detached() {
		return false
	}
	fd, err := unix.Open(z.loop, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return !errors.Is(err, unix.ENXIO)
	}
	_ = unix.Close(fd) // read only
	return true
}

// inUse returns EBUSY for a device that is swap or mounted: an exclusive open fails then.
func inUse(dev string) error {
	fd, err := unix.Open(dev, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// controls lists zram-control.
func (t *table) controls() ([]entry, error) {
	if !t.control {
		return nil, nil
	}
	return []entry{
		{name: hotAdd, mode: 0o400, read: t.add, unlisted: true},
		{name: hotRemove, mode: 0o200, write: t.remove},
	}, nil
}

// add makes a device and returns its number and a newline.
func (t *table) add() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number, err := helper.CallTimeout(changeTime, helper.Read, filepath.Join(t.dir, "control", hotAdd))
	if err != nil {
		return nil, err
	}
	return number, t.refresh(nil)
}

// remove removes the device whose number is written.
func (t *table) remove(number []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	write := func() error {
		_, err := helper.CallTimeout(changeTime, helper.Write, filepath.Join(t.dir, "control", hotRemove), string(number))
		return err
	}
	z := t.find("zram" + trimmed(number))
	if z == nil {
		return write()
	}
	err := inUse(z.loop)
	if err == nil {
		err = z.detach()
	}
	if err != nil {
		return err
	}
	if err := write(); err != nil {
		return errors.Join(err, t.attach(z, nil))
	}
	return t.refresh(nil)
}
