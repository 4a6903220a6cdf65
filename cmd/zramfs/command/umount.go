// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"zramfs/cmd/zramfs/daemon"
)

const (
	// The kernel lets go of a closed file, and of a loop device, a moment after the call that did it.
	busyTries = 20
	busyPause = 50 * time.Millisecond

	// endTime bounds the wait for the serving process after the unmount; freeing the memory of a large device takes time.
	endTime = 20 * time.Second
)

func umountCommand() *cli.Command {
	return &cli.Command{
		Name:      "umount",
		Aliases:   []string{"unmount"},
		Usage:     "end a device that is not in use",
		ArgsUsage: "DIR",
		Description: "Everything stored in the device is gone after that. While a loop device or somebody else uses it, nothing is " +
			"changed; zramfs down turns swap off first.",
		Action: umountAction,
	}
}

func umountAction(c *cli.Context) error {
	if c.NArg() != 1 || c.Args().First() == "" {
		return usageError("umount: name one DIR")
	}
	all, err := findDevices()
	if err != nil {
		return err
	}
	d, err := pickDevice(all, c.Args().First())
	if err != nil {
		return err
	}
	if err := unmountAndWait(d); err != nil {
		return err
	}
	return forget(c.App.Writer, thisMachine(), d.Dir, all)
}

// unmountAndWait unmounts d and waits until the process that served it has ended. It tries for a second while the device
// is in use by nobody it knows of.
func unmountAndWait(d device) error {
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
		return fmt.Errorf("unmount %s: %w: %s", d.Dir, err, d.users())
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

// users says who may hold a device that cannot be unmounted, and what to do.
func (d device) users() string {
	var words []string
	for _, loop := range d.Loops {
		switch {
		case d.swapOn(loop.Path) != nil:
			words = append(words, fmt.Sprintf("%s is swapped to: zramfs down %s", loop.Path, d.Dir))
		case d.Mountpoint != "":
			words = append(words, fmt.Sprintf("%s has a file system on %s: umount it, then losetup -d %[1]s", loop.Path, d.Mountpoint))
		default:
			words = append(words, fmt.Sprintf("%s is on it: losetup -d %[1]s", loop.Path))
		}
	}
	if errors.Is(d.Err, errNoAnswer) {
		words = append(words, "its serving process does not answer, and whoever waits for it holds the mount")
	}
	if len(words) == 0 {
		return fmt.Sprintf("somebody works in it or has a file in it open: fuser -vm %s shows who", d.Dir)
	}
	return strings.Join(words, "; ")
}

// server is the process that serves a device, watched by something that a new process of the same PID cannot be.
type server struct {
	pid   int // 0 when there is nothing to wait for
	pidfd int // -1 on kernels before Linux 5.3
}

// watchServer begins to watch the process that serves d, before anything can end it. Where there is no status, or the
// PID is not that of a serving process, because the process lives in another PID namespace, nothing is watched.
func watchServer(d device) (server, error) {
	none := server{pidfd: -1}
	if d.Status == nil {
		return none, nil
	}
	fd, err := openPidfd(d.Status.PID)
	if errors.Is(err, syscall.ESRCH) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("watch the serving process: %w", err)
	}
	s := server{pid: d.Status.PID, pidfd: fd}
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", s.pid))
	if err != nil || strings.TrimSpace(string(comm)) != daemon.ProcessName {
		s.close()
		return none, nil
	}
	return s, nil
}
