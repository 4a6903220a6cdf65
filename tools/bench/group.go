// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// memoryController is its name in both versions of control groups.
const memoryController = "memory"

// groupSwappiness lets a group of version 1 swap as soon as it is full; version 2
// has no such setting of a group.
const groupSwappiness = 100

var errNoController = errors.New("no mounted control groups have the memory controller")

// A hierarchy is where control groups for memory are made. It is immutable.
type hierarchy struct {
	top string
	v1  bool
}

// memoryHierarchy finds the hierarchy of the memory controller in the text of
// /proc/self/mounts (cgroups(7)): that of version 1, or the one of version 2, whose
// controllers are read by readFile.
func memoryHierarchy(mounts string, readFile func(string) ([]byte, error)) (hierarchy, error) {
	var unified []string
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		switch {
		case fields[2] == "cgroup" && slices.Contains(strings.Split(fields[3], ","), memoryController):
			return hierarchy{top: fields[1], v1: true}, nil
		case fields[2] == "cgroup2":
			unified = append(unified, fields[1])
		}
	}
	for _, top := range unified {
		controllers, err := readFile(filepath.Join(top, "cgroup.controllers"))
		if err == nil && slices.Contains(strings.Fields(string(controllers)), memoryController) {
			return hierarchy{top: top}, nil
		}
	}
	return hierarchy{}, errNoController
}

// limitFile returns the name of the file that limits a group's memory.
func (h hierarchy) limitFile() string {
	if h.v1 {
		return "memory.limit_in_bytes"
	}
	return "memory.max"
}

// makeGroup makes a control group with a memory limit in bytes and returns its directory.
func makeGroup(name string, limit int64, made *cleanup) (dir string, err error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", fmt.Errorf("find control groups: %w", err)
	}
	h, err := memoryHierarchy(string(mounts), os.ReadFile)
	if err != nil {
		return "", fmt.Errorf("find control groups: %w", err)
	}
	if err := h.delegate(made); err != nil {
		return "", err
	}
	dir = filepath.Join(h.top, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("make control group: %w", err)
	}
	made.add(func() error { return removeGroup(dir) })
	settings := map[string]int64{h.limitFile(): limit}
	if h.v1 {
		settings["memory.swappiness"] = groupSwappiness
	}
	for file, value := range settings {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(value, 10)), 0); err != nil {
			return "", fmt.Errorf("limit control group: %w", err)
		}
	}
	return dir, nil
}

// delegate lets groups below the top of version 2 have the controller; made takes
// it back where it was not so before.
func (h hierarchy) delegate(made *cleanup) error {
	if h.v1 {
		return nil
	}
	control := filepath.Join(h.top, "cgroup.subtree_control")
	now, err := os.ReadFile(control)
	if err != nil {
		return fmt.Errorf("delegate memory: %w", err)
	}
	if slices.Contains(strings.Fields(string(now)), memoryController) {
		return nil
	}
	if err := os.WriteFile(control, []byte("+"+memoryController), 0); err != nil {
		return fmt.Errorf("delegate memory: %w", err)
	}
	made.add(func() error { return os.WriteFile(control, []byte("-"+memoryController), 0) })
	return nil
}

// removeGroup removes a group, which stays busy for a moment after its last process. A missing
// group is no error.
func removeGroup(dir string) error {
	err := retry(func() error {
		if err := os.Remove(dir); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove control group: %w", err)
	}
	return nil
}

// joinGroup moves the calling process into a control group.
func joinGroup(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
		return fmt.Errorf("join control group: %w", err)
	}
	return nil
}

// emptyGroup kills every process of a control group and waits for their end. A group
// that is gone is empty.
func emptyGroup(dir string) error {
	return retry(func() error {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("empty control group: %w", err)
		}
		pids := strings.Fields(string(text))
		if len(pids) == 0 {
			return nil
		}
		for _, field := range pids {
			pid, err := strconv.Atoi(field)
			if err != nil || pid <= 0 { // 0 is a process outside our view of them
				return fmt.Errorf("empty control group: %w: process %q", errKernelText, field)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("empty control group: kill %d: %w", pid, err)
			}
		}
		return fmt.Errorf("empty control group: processes %v live on", pids)
	})
}
