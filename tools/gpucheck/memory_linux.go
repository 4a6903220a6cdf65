// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mapMemory maps memory outside Go's heap and returns it with a function that unmaps it. It uses
// huge pages if it can, which register several times as fast.
func mapMemory(n int) (memory []byte, unmap func() error, err error) {
	memory, err = unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.Madvise(memory, unix.MADV_HUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: a kernel without huge pages
		return nil, nil, errors.Join(err, unix.Munmap(memory))
	}
	return memory, func() error { return unix.Munmap(memory) }, nil
}

// freeMemory returns the bytes that the program may still take: the free memory of the machine or,
// if less, of its control group.
func freeMemory() (int64, error) {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(info), "MemAvailable:")
	if !ok {
		return 0, errors.New("/proc/meminfo has no MemAvailable")
	}
	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return 0, fmt.Errorf("/proc/meminfo: MemAvailable: %w", err)
	}
	free := kilobytes << 10
	limit, err := groupFigure("memory.max")
	if err != nil || limit == 0 {
		return free, err
	}
	used, err := groupFigure("memory.current")
	return min(free, max(limit-used, 0)), err
}

// groupFigure reads a number of the control group that a container shows as the root, or 0 if there
// is none.
func groupFigure(name string) (int64, error) {
	text, err := os.ReadFile("/sys/fs/cgroup/" + name)
	if errors.Is(err, fs.ErrNotExist) || strings.TrimSpace(string(text)) == "max" {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	figure, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the control group's %s: %w", name, err)
	}
	return figure, nil
}
