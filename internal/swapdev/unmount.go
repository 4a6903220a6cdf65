// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/term"
)

// MayUnmount refuses to unmount a device that does not answer: the unmount would still happen once
// the server goes on, long after the command gave up. Without a worker no request has been read,
// and the keeper unmounts.
func MayUnmount(d Device) error {
	var s *Silence
	if !errors.As(d.Err, &s) || s.WithoutWorker() {
		return nil
	}
	return fmt.Errorf("%s does not answer, so %s cannot be unmounted (%s); to get rid of it with all data, see \"hangs\" in docs/safety.md",
		s.Name(), d.Dir, s.Fix())
}

// UnmountAndWait unmounts d and waits until its serving process has ended; before, it does so with
// the extra devices of its directory. While one of them is in use it ends none. While no known
// process uses the device, it retries for a second.
func UnmountAndWait(d Device) error {
	below, err := FindExtra(d)
	if err != nil {
		return fmt.Errorf("find the devices below %s: %w", d.Dir, err)
	}
	if len(below) > 0 {
		err = mayEnd(append([]Device{d}, below...))
	}
	for _, f := range slices.Backward(below) { // one may lie below another
		if err == nil {
			err = unmountAndWait(f)
		}
	}
	if err != nil {
		return err
	}
	return unmountAndWait(d)
}

func unmountAndWait(d Device) error {
	process, err := watchServer(d)
	if err != nil {
		return err
	}
	defer process.close()
	for try := 1; ; try++ {
		err = unmountDevice(d)
		if !errors.Is(err, syscall.EBUSY) || len(d.Loops) > 0 || try == busyTries {
			break
		}
		time.Sleep(busyPause)
	}
	switch {
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("cannot unmount %s: %s", d.Word(), UsersOf(d))
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("unmount %s: %w: run as root, in the namespaces in which it was mounted", d.Word(), err)
	case err != nil:
		return fmt.Errorf("unmount %s: %w", d.Word(), err)
	}
	err = process.wait(copiesTime)
	if errors.Is(err, errStillRunning) { // copies of the mount in other namespaces keep it, or it is slow
		err = errors.Join(process.terminate(), process.wait(endTime))
	}
	if err != nil {
		return fmt.Errorf("%s is unmounted, but its serving process (PID %d) has not ended: %w; a process in another mount namespace "+
			"may use a copy of the mount, and its end is that of the device", d.Dir, process.pid, err)
	}
	return removeDead(d.Dir) // the keeper may have failed to
}

// mayEnd refuses to end devices while one of them is in use. The first has the others below it.
func mayEnd(all []Device) error {
	for _, d := range all {
		if err := MayUnmount(d); err != nil {
			return err
		}
		for try := 1; len(d.Loops) > 0 || opens(d) > 0; try++ {
			if len(d.Loops) > 0 || try == busyTries {
				return fmt.Errorf("cannot unmount %s: %s is in use: %s", all[0].Word(), d.Word(), UsersOf(d))
			}
			time.Sleep(busyPause)
		}
	}
	return nil
}

// opens returns the number of open handles on the data file of d; 0 where d does not answer.
func opens(d Device) int {
	s, err := ReadStatus(d.Dir)
	if err != nil {
		return 0
	}
	return s.Opens
}

// UsersOf says what may hold a device that cannot be unmounted, and how to free it.
func UsersOf(d Device) string {
	var words []string
	for _, loop := range d.Loops {
		switch {
		case d.SwapOn(loop.Path) != nil:
			words = append(words, fmt.Sprintf("%s is swapped to: zramfs down %s", loop.Path, d.Word()))
		case d.Mountpoint != "":
			words = append(words, fmt.Sprintf("%s has a file system on %s: umount it, then losetup -d %[1]s", loop.Path, d.Mountpoint))
		default:
			words = append(words, fmt.Sprintf("%s is on it: losetup -d %[1]s", loop.Path))
		}
	}
	if len(words) == 0 && d.Unseen != nil {
		return d.Unseen.Error()
	}
	if len(words) == 0 {
		return fmt.Sprintf("a process uses it: fuser -vm %s %s names it", d.Word(), term.ShellWord(filepath.Join(d.Dir, DataDir)))
	}
	return strings.Join(words, "; ")
}

// server is the process that serves a device, watched by a pidfd, which a new process with the same
// PID cannot match.
type server struct {
	pid   int // 0: nothing to wait for
	pidfd int // -1 on kernels before Linux 5.3
}

// watchServer starts watching the process that keeps d, before the caller ends it. If the process
// is unknown or has ended, nothing is watched.
func watchServer(d Device) (server, error) {
	none := server{pidfd: -1}
	pid := ServerAt(d.Keeper)
	if pid == 0 {
		return none, nil
	}
	fd, err := openPidfd(pid)
	if errors.Is(err, syscall.ESRCH) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("watch the serving process: %w", err)
	}
	return server{pid: pid, pidfd: fd}, nil
}

const (
	// The kernel releases a closed file or a loop device a moment after the call.
	busyTries = 20
	busyPause = 50 * time.Millisecond

	// endTime bounds the wait for the serving process after the unmount; freeing a large device's
	// memory takes time.
	endTime = 20 * time.Second
	// copiesTime is how long it may take before the command asks the keeper to end the copies too.
	copiesTime = 500 * time.Millisecond
)
