// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Process is what the kernel tells of a process that has not ended, without asking the process
// (proc_pid_stat(5)).
type Process struct {
	PID    int
	Name   string // as in /proc/PID/comm
	State  byte   // the letter
	Parent int
	// Start is when the process started, in clock ticks after boot. With the PID it names one
	// process for ever.
	Start uint64
	// CPU is the processor time of all its threads, ended ones included, in steps of 10 ms.
	CPU time.Duration
}

// clockTick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every architecture that Go
// has.
const clockTick = 10 * time.Millisecond

// Process describes the process with this number in the PID namespace of the Root's proc; false
// where there is none, or only a zombie.
func (r Root) Process(pid int) (Process, bool) {
	text, err := os.ReadFile(r.Path("proc", strconv.Itoa(pid), "stat"))
	// The name may hold spaces and parentheses.
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if err != nil || begin < 0 || end < begin {
		return Process{}, false
	}
	fields := strings.Fields(string(text[end+1:])) // the first is field 3
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return Process{}, false
	}
	p := Process{PID: pid, Name: string(text[begin+1 : end]), State: fields[0][0]}
	p.Parent, _ = strconv.Atoi(fields[1])
	for _, field := range fields[11:13] { // utime, stime
		ticks, _ := strconv.ParseInt(field, 10, 64)
		p.CPU += time.Duration(ticks) * clockTick
	}
	p.Start, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err == nil
}

// Stopped reports whether a signal or a debugger has stopped the process.
func (p Process) Stopped() bool { return p.State == 'T' || p.State == 't' }

// ProcessesNamed returns the processes with one of these names in the PID namespace of the Root's
// proc. It reads nothing that may lie in swap.
func (r Root) ProcessesNamed(names ...string) (all []Process) {
	entries, err := os.ReadDir(r.Path("proc"))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := r.Process(pid); ok && slices.Contains(names, p.Name) {
			all = append(all, p)
		}
	}
	return all
}

// Arguments returns the arguments that a process was started with, its name first; none where they
// cannot be read.
func (r Root) Arguments(pid int) []string {
	text, err := os.ReadFile(r.Path("proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// InnerPID returns the number of a process in its own PID namespace; 0 where it cannot be read.
func (r Root) InnerPID(pid int) int {
	text, err := r.Field(fmt.Sprintf("proc/%d/status", pid), "NSpid")
	if err != nil {
		return 0
	}
	numbers := strings.Fields(text) // from the outermost namespace inwards
	if len(numbers) == 0 {
		return 0
	}
	n, err := strconv.Atoi(numbers[len(numbers)-1])
	if err != nil {
		return 0
	}
	return n
}

// HoldsFUSE reports whether a process has the FUSE connection of that number open, which the kernel
// tells root since Linux 6.17.
func (r Root) HoldsFUSE(pid, connection int) bool {
	files, err := filepath.Glob(r.Path("proc", strconv.Itoa(pid), "fdinfo", "*"))
	if err != nil || connection == 0 {
		return false
	}
	want := fmt.Appendf(nil, "\nfuse_connection:\t%d\n", connection)
	return slices.ContainsFunc(files, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && bytes.Contains(text, want)
	})
}

// InRootOf returns the path of a file that a process sees at path.
func (r Root) InRootOf(pid int, path string) string {
	return r.Path("proc", strconv.Itoa(pid), "root", path)
}

// Usage is what a process takes of the machine's memory, in bytes, and its parent
// (proc_pid_status(5)).
type Usage struct {
	Anon   uint64 // RssAnon: heap, stacks and data
	File   uint64 // RssFile: code and tables, which processes of one program share
	Tables uint64 // VmPTE: page tables
	Swap   uint64 // VmSwap: pages in swap
	Parent int    // PPid
}

// Usage returns the memory use of a process, which is a number or "self". The kernel keeps the
// sums, so the time does not depend on the size of the process.
func (r Root) Usage(pid string) (Usage, error) {
	text, err := os.ReadFile(r.Path("proc/" + pid + "/status"))
	if err != nil {
		return Usage{}, err
	}
	return parseUsage(string(text)), nil
}

// parseUsage reads the text of a status file. A missing field is 0.
func parseUsage(text string) (u Usage) {
	kib := func(value string) (n uint64) {
		_, _ = fmt.Sscanf(value, "%d kB", &n)
		return n << 10
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); name {
		case "PPid":
			_, _ = fmt.Sscan(value, &u.Parent)
		case "RssAnon":
			u.Anon = kib(value)
		case "RssFile":
			u.File = kib(value)
		case "VmPTE":
			u.Tables = kib(value)
		case "VmSwap":
			u.Swap = kib(value)
		}
	}
	return u
}
