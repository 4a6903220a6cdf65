// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// flusherCommand is "flusher PID...": it prints for each process how many of its threads are
// IO_FLUSHER. The kernel tells that of the calling thread alone, so this thread becomes one, and
// learns which flags of /proc/PID/stat that sets.
func flusherCommand(pids []string) error {
	runtime.LockOSThread()
	self := fmt.Sprintf("/proc/self/task/%d/stat", unix.Gettid())
	// The call itself notes that a privilege was used.
	if err := unix.Prctl(unix.PR_SET_IO_FLUSHER, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("be no IO_FLUSHER: %w", err)
	}
	before, err := flags(self)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_IO_FLUSHER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become an IO_FLUSHER: %w", err)
	}
	after, err := flags(self)
	if err != nil {
		return err
	}
	mask := after &^ before
	if mask == 0 {
		return fmt.Errorf("an IO_FLUSHER has the same flags as other threads, %#x", after)
	}
	for _, pid := range pids {
		threads, err := filepath.Glob("/proc/" + pid + "/task/*/stat")
		if err != nil {
			return err
		}
		set := 0
		for _, t := range threads {
			f, err := flags(t)
			if err == nil && f&mask == mask {
				set++
			}
		}
		fmt.Printf("%s: %d of %d\n", pid, set, len(threads))
	}
	return nil
}

// flags reads the flags of a thread.
func flags(path string) (uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	// The name is in parentheses and may have spaces.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 7 {
		return 0, fmt.Errorf("%s has %q", path, text)
	}
	return strconv.ParseUint(fields[6], 10, 64)
}
