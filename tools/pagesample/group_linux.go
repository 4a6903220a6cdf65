// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/procpages"
)

// A group is a process group that this program started, named by its number.
type group int

// processes returns the processes of the group that have not ended, and whether
// all of them are stopped.
func (g group) processes() (pids []int, stopped bool, err error) {
	all, err := procpages.Processes()
	if err != nil {
		return nil, false, err
	}
	stopped = true
	for _, pid := range all {
		state, pgrp, err := stat(pid)
		if errors.Is(err, procpages.ErrGone) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if pgrp != int(g) || state == 'Z' || state == 'X' {
			continue
		}
		pids = append(pids, pid)
		stopped = stopped && (state == 'T' || state == 't')
	}
	return pids, stopped, nil
}

// stat returns a process's state letter and process group (proc_pid_stat(5)).
func stat(pid int) (state byte, pgrp int, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return 0, 0, procpages.ErrGone
	}
	if err != nil {
		return 0, 0, err
	}
	// The name in parentheses may hold anything, so the fields are counted from
	// its end: state, parent, group.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 3 {
		return 0, 0, fmt.Errorf("read stat of process %d: %d fields", pid, len(fields))
	}
	pgrp, err = strconv.Atoi(string(fields[2]))
	if err != nil {
		return 0, 0, fmt.Errorf("read stat of process %d: %w", pid, err)
	}
	return fields[0][0], pgrp, nil
}

// anonymous returns how many bytes of anonymous memory the group holds.
func (g group) anonymous() (int64, error) {
	pids, _, err := g.processes()
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, pid := range pids {
		count, err := procpages.CountOf(pid)
		if errors.Is(err, procpages.ErrGone) {
			continue
		}
		if err != nil {
			return 0, err
		}
		sum += count.Resident
	}
	return sum, nil
}

// stop stops all processes of the group and waits until they are.
func (g group) stop() error {
	if err := unix.Kill(-int(g), unix.SIGSTOP); err != nil {
		return fmt.Errorf("stop process group %d: %w", int(g), err)
	}
	for deadline := time.Now().Add(deathTimeout); time.Now().Before(deadline); time.Sleep(pollInterval) {
		pids, stopped, err := g.processes()
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return fmt.Errorf("stop process group %d: %w", int(g), procpages.ErrGone)
		}
		if stopped {
			return nil
		}
	}
	return fmt.Errorf("stop process group %d: still running after %v", int(g), deathTimeout)
}

// kill ends all processes of the group and waits until they are gone.
func (g group) kill() error {
	if err := unix.Kill(-int(g), unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process group %d: %w", int(g), err)
	}
	for deadline := time.Now().Add(deathTimeout); time.Now().Before(deadline); time.Sleep(pollInterval) {
		pids, _, err := g.processes()
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return nil
		}
	}
	return fmt.Errorf("kill process group %d: still there after %v", int(g), deathTimeout)
}
