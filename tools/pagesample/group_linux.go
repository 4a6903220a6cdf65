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
)

// A group is a process group that this program started, named by its number.
type group int

// errGone means that a process ended while it was looked at.
var errGone = errors.New("the process has ended")

// processes returns the processes of the group that have not ended, and whether
// all of them are stopped.
func (g group) processes() (pids []int, stopped bool, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false, fmt.Errorf("list processes: %w", err)
	}
	stopped = true
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		state, pgrp, err := stat(pid)
		if errors.Is(err, errGone) {
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
	data, err := readProc(pid, "stat")
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

// readProc reads a file of a process; the error wraps errGone when the process has
// ended.
func readProc(pid int, name string) ([]byte, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil, errGone
	}
	return data, err
}

// anonymous returns how many bytes of anonymous memory the group holds.
func (g group) anonymous() (int64, error) {
	pids, _, err := g.processes()
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, pid := range pids {
		status, err := readProc(pid, "status")
		if errors.Is(err, errGone) {
			continue
		}
		if err != nil {
			return 0, err
		}
		for line := range bytes.Lines(status) {
			if rest, ok := bytes.CutPrefix(line, []byte("RssAnon:")); ok {
				sum += kilobytes(rest)
			}
		}
	}
	return sum, nil
}

// kilobytes reads a number in the form "  123 kB" and returns bytes; 0 when it is
// no number.
func kilobytes(text []byte) int64 {
	number, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte(" "))
	value, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return 0
	}
	return value << 10
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
			return fmt.Errorf("stop process group %d: %w", int(g), errGone)
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
