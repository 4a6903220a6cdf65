// SPDX-License-Identifier: Apache-2.0

package procpages

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// PageSize is the size of a page in bytes.
const PageSize = 4096

// ErrGone means that the process has ended.
var ErrGone = errors.New("the process has ended")

// Processes returns the numbers of all processes that /proc shows to the caller, zombies and the
// kernel's own among them.
func Processes() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// A Count is the kernel's count of a process's anonymous memory, in bytes. It is cheap and needs no
// privilege. Pages shared by several processes count in each, so the sum over processes can exceed
// the total.
type Count struct {
	Resident int64 // RssAnon of /proc/PID/status
	Swapped  int64 // VmSwap
}

// CountOf returns the counts of a process, zero for a zombie and for one of the kernel's own.
func CountOf(pid int) (Count, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Count{}, fmt.Errorf("count memory of process %d: %w", pid, gone(err))
	}
	var c Count
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("RssAnon:")); ok {
			c.Resident = kilobytes(rest)
		}
		if rest, ok := bytes.CutPrefix(line, []byte("VmSwap:")); ok {
			c.Swapped = kilobytes(rest)
		}
	}
	return c, nil
}

// kilobytes reads a number in the form "  123 kB" and returns bytes; 0 when it is no number.
func kilobytes(text []byte) int64 {
	number, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte(" "))
	value, err := strconv.ParseInt(string(number), 10, 53)
	if err != nil {
		return 0
	}
	return value << 10
}

// gone turns the errors that /proc gives for a process that has ended into ErrGone.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return ErrGone
	}
	return err
}

// Explain adds to a refusal (fs.ErrPermission) the setting that usually causes it.
func Explain(err error) error {
	if scope := PtraceScope(); scope != "" && errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (kernel.yama.ptrace_scope is %s)", err, scope)
	}
	return err
}

// PtraceScope returns the setting kernel.yama.ptrace_scope, by which the kernel refuses looks into
// other processes; empty where it refuses none, or has no such setting.
func PtraceScope() string {
	text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if scope := string(bytes.TrimSpace(text)); err == nil && scope != "0" {
		return scope
	}
	return ""
}
