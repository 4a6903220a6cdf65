// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// launchSlots starts a process that holds ballast in a session of its own, and returns its PID.
func launchSlots(cfg ballast.Config) (int, error) {
	program, err := zramfsd.Find()
	if err != nil {
		return 0, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = null.Close() }() // the process has its own
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{zramfsd.Name, zramfsd.Ballast}, cfg.Args()...), Env: []string{"GOMAXPROCS=1"}, Dir: "/",
		Stdin: null, Stdout: null, Stderr: null, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid := cmd.Process.Pid
	return pid, cmd.Process.Release()
}

// slotsEndTime bounds the wait for a process to free its ballast, which takes some milliseconds a
// GiB. After it the process is killed, which frees the ballast too.
const slotsEndTime = 3 * time.Second

// endSlots ends the process and waits until the kernel has freed its ballast.
func endSlots(p SlotsProcess) error {
	if p.PID == 0 {
		return nil
	}
	fd, err := openPidfd(p.PID)
	if err != nil {
		return ignoreGone(err)
	}
	process := server{pid: p.PID, pidfd: fd}
	defer process.close()
	for _, signal := range []syscall.Signal{unix.SIGTERM, unix.SIGKILL} {
		if err := unix.Kill(p.PID, signal); err != nil {
			return ignoreGone(err)
		}
		if err = process.wait(slotsEndTime); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the process that holds ballast (PID %d) does not end", p.PID)
}

// ignoreGone drops the error that a process has ended.
func ignoreGone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}
