// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

const (
	// The kernel releases a closed file or a loop device a moment after the call.
	busyTries = 20
	busyPause = 50 * time.Millisecond

	// endTime bounds the wait for the serving process after the unmount; freeing a large device's
	// memory takes time.
	endTime = 20 * time.Second
)

func umountCommand() *cli.Command {
	return &cli.Command{
		Name:      "umount",
		Aliases:   []string{"unmount"},
		Usage:     "end a device that is not in use",
		ArgsUsage: "DIR",
		Description: "Everything stored in the device is gone after that. While a loop device or a process uses it, nothing is " +
			"changed; zramfs down turns swap off first.",
		Action: umountAction,
	}
}

func umountAction(c *cli.Context) error {
	if c.NArg() != 1 || c.Args().First() == "" {
		return usageError("umount: name one DIR")
	}
	d, err := devices.FindOne(c.Args().First())
	if err != nil {
		return err
	}
	if d.Away {
		p := devices.DiagnoseAway(d)
		return fmt.Errorf("%s: %s; %s", d.Title(), p.What, p.Fix)
	}
	if err := mayUnmount(d); err != nil {
		return err
	}
	if err := unmountAndWait(d); err != nil {
		return err
	}
	return forget(c.App.Writer, host.Local, d)
}

// mayUnmount refuses to unmount a device that does not answer: the unmount would still happen once
// the server goes on, long after the command gave up. Without a worker no request has been read,
// and the keeper unmounts.
func mayUnmount(d devices.Device) error {
	var s *devices.Silence
	if !errors.As(d.Err, &s) || s.WithoutWorker() {
		return nil
	}
	return fmt.Errorf("%s does not answer, so %s cannot be unmounted (%s); to get rid of it with all data, see \"hangs\" in docs/safety.md",
		s.Name(), d.Dir, s.Fix())
}

// unmountAndWait unmounts d and waits until its serving process has ended. While no known process
// uses the device, it retries for a second.
func unmountAndWait(d devices.Device) error {
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
		return fmt.Errorf("cannot unmount %s: %s", d.Dir, usersOf(d))
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("unmount %s: %w: run as root, in the namespaces in which it was mounted", d.Dir, err)
	case err != nil:
		return fmt.Errorf("unmount %s: %w", d.Dir, err)
	}
	if err := process.wait(endTime); err != nil {
		return fmt.Errorf("%s is unmounted, but its serving process (PID %d) has not ended: %w", d.Dir, process.pid, err)
	}
	return nil
}

// usersOf says what may hold a device that cannot be unmounted, and how to free it.
func usersOf(d devices.Device) string {
	var words []string
	for _, loop := range d.Loops {
		switch {
		case d.SwapOn(loop.Path) != nil:
			words = append(words, fmt.Sprintf("%s is swapped to: zramfs down %s", loop.Path, d.Dir))
		case d.Mountpoint != "":
			words = append(words, fmt.Sprintf("%s has a file system on %s: umount it, then losetup -d %[1]s", loop.Path, d.Mountpoint))
		default:
			words = append(words, fmt.Sprintf("%s is on it: losetup -d %[1]s", loop.Path))
		}
	}
	if len(words) == 0 {
		return fmt.Sprintf("a process uses it: fuser -vm %s %s names it", d.Dir, filepath.Join(d.Dir, devices.DataDir))
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
func watchServer(d devices.Device) (server, error) {
	none := server{pidfd: -1}
	pid := devices.ServerAt(d.Keeper)
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
