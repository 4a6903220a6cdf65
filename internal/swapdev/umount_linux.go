// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/helper"
)

// unmountDevice removes the mounts of d unless its data file is in use. A live keeper removes the
// attributes' mount itself once the data file is gone. A hidden data file goes with its last loop
// device.
func unmountDevice(d Device) error {
	_, err := helper.CallTimeout(unmountTime, helper.Unmount, filepath.Join(d.Dir, DataDir))
	if errors.Is(err, unix.EINVAL) && (len(d.Loops) > 0 || d.Unseen != nil) { // hidden by up
		return unix.EBUSY
	}
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTCONN) {
		return err
	}
	switch {
	case errors.Is(d.Err, ErrDead) && len(d.Loops) > 0:
		return unix.EBUSY
	case errors.Is(d.Err, ErrDead):
		return detachMount(d.Dir)
	case d.Keeper != 0:
		return nil
	}
	err = unix.Unmount(d.Dir, unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		if mounted, merr := isMounted(d.Dir); merr == nil && !mounted {
			return nil // the keeper was faster
		}
	}
	return err
}

// unmountTime bounds an unmount, which is quick once the server answers.
const unmountTime = 5 * time.Second

// detachMount detaches the mount on dir even if it is in use.
func detachMount(dir string) error {
	if _, err := helper.CallTimeout(unmountTime, helper.Detach, dir); err != nil {
		return fmt.Errorf("detach %s: %w", dir, err)
	}
	return nil
}

// openPidfd returns a descriptor of the process, or -1 and no error if the kernel has no pidfds.
func openPidfd(pid int) (int, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ENOSYS) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	return fd, nil
}

// errStillRunning means that a process did not end in time.
var errStillRunning = errors.New("still running")

// wait waits until the process has ended, at most limit.
func (s server) wait(limit time.Duration) error {
	if s.pid == 0 {
		return nil
	}
	end := time.Now().Add(limit)
	for {
		left := time.Until(end)
		if left <= 0 {
			return fmt.Errorf("%w after %s", errStillRunning, limit)
		}
		if s.pidfd < 0 {
			if errors.Is(unix.Kill(s.pid, 0), unix.ESRCH) {
				return nil
			}
			time.Sleep(busyPause)
			continue
		}
		poll := []unix.PollFd{{Fd: int32(s.pidfd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, int(left.Milliseconds())+1)
		if n > 0 {
			return nil
		}
		if err != nil { // EINTR, or ENOMEM, after which the mount may be half gone
			if errors.Is(unix.PidfdSendSignal(s.pidfd, 0, nil, 0), unix.ESRCH) {
				return nil
			}
			time.Sleep(busyPause)
		}
	}
}

// endChild tells a process that this one has started to end, and waits until it has. It tells it
// again and again: a keeper refuses while the kernel has not told it of a file that was closed. The
// number belongs to the process until it has ended. This takes no descriptor and no memory.
func endChild(pid int, limit time.Duration) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(busyPause) {
		if err := unix.Kill(pid, unix.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("end the serving process (PID %d): %w", pid, err)
		}
		ended, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if ended == pid || errors.Is(err, unix.ECHILD) {
			return nil
		}
	}
	return fmt.Errorf("the serving process (PID %d) has not ended: %w after %s", pid, errStillRunning, limit)
}

// terminate asks the process to end.
func (s server) terminate() error {
	var err error
	if s.pidfd < 0 {
		err = unix.Kill(s.pid, unix.SIGTERM)
	} else {
		err = unix.PidfdSendSignal(s.pidfd, unix.SIGTERM, nil, 0)
	}
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended
	}
	return err
}

func (s server) close() {
	if s.pidfd >= 0 {
		_ = unix.Close(s.pidfd) // only watched
	}
}
