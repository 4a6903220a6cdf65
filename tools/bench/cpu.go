// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/zramfsd"
)

// userHertz is the unit of the times in /proc, the same on every Linux that Go runs
// on (USER_HZ in proc_stat(5)).
const userHertz = 100

// kernelThread is the flag of a task that is a thread of the kernel: PF_KTHREAD in
// the kernel's include/linux/sched.h, in the field flags of proc_pid_stat(5).
const kernelThread = 0x00200000

// busyFields are the numbers of the times in the first line of /proc/stat during
// which a processor was not free for others (proc_stat(5)): user, nice, system,
// irq, softirq, steal. Idle and iowait are left out; guest is part of user.
var busyFields = [...]int{0, 1, 2, 5, 6, 7}

var errKernelText = errors.New("unexpected text from the kernel")

// cpuTime is processor time in seconds, in the shape of its JSON. The first three
// together are what a load costs: what else runs on the machine is not in them, but
// for the share of the kernel's threads that works for others. Interrupts count
// where they interrupted.
type cpuTime struct {
	// Load is the process that makes the load, with the kernel's work in its page
	// faults and system calls, which for kernel zram is compression too.
	Load float64 `json:"load_seconds"`
	// Server is zramfs, all its processes.
	Server float64 `json:"zramfs_seconds"`
	// Kernel is all threads of the kernel: of loop, softirqs and reclaim above all.
	Kernel float64 `json:"kernel_threads_seconds"`
	// Machine is the time of all processes.
	Machine float64 `json:"machine_seconds"`
}

// own returns what the load cost.
func (c cpuTime) own() float64 { return c.Load + c.Server + c.Kernel }

// plus adds what was spent at another time.
func (c cpuTime) plus(other cpuTime) cpuTime {
	return cpuTime{c.Load + other.Load, c.Server + other.Server, c.Kernel + other.Kernel, c.Machine + other.Machine}
}

// A role says on which account a task's time goes.
type role int

const (
	roleOther role = iota
	roleLoad
	roleServer
	roleKernel
)

// A task is a process with its threads, or a thread of the kernel.
type task struct {
	role role
	busy time.Duration
}

// A taskName tells tasks apart for ever: a number alone is used again.
type taskName struct {
	pid     int
	started string // after the start of the machine, in clock ticks
}

// A census is what all tasks have used since they began.
type census struct {
	machine time.Duration
	tasks   map[taskName]task
}

// A party is whose tasks a census tells apart. It is immutable.
type party struct {
	load   int    // the process number of the load
	server string // the path of the zramfs program, its server in the same directory; empty for none
}

// count takes a census. A process that ends while it is taken is left out.
func (p party) count() (census, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return census{}, fmt.Errorf("read processor times: %w", err)
	}
	c := census{tasks: map[taskName]task{}}
	if c.machine, err = parseBusy(string(text)); err != nil {
		return census{}, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return census{}, fmt.Errorf("list processes: %w", err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil { // ESRCH or ENOENT: it has ended
			continue
		}
		name, one, err := parseTask(pid, string(stat))
		if err != nil {
			return census{}, err
		}
		if one.role != roleKernel {
			one.role = p.roleOf(pid)
		}
		c.tasks[name] = one
	}
	return c, nil
}

// roleOf returns the role of a process. One that ends, or that is not readable, is none of ours.
func (p party) roleOf(pid int) role {
	if pid == p.load {
		return roleLoad
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err == nil && p.server != "" && (path == p.server || path == filepath.Join(filepath.Dir(p.server), zramfsd.Name)) {
		return roleServer
	}
	return roleOther
}

// since returns what was used between an earlier census and this, by tasks that are
// there at its end.
func (c census) since(before census) cpuTime {
	out := cpuTime{Machine: (c.machine - before.machine).Seconds()}
	for name, one := range c.tasks {
		used := (one.busy - before.tasks[name].busy).Seconds()
		switch one.role {
		case roleLoad:
			out.Load += used
		case roleServer:
			out.Server += used
		case roleKernel:
			out.Kernel += used
		}
	}
	return out
}

// parseTask reads /proc/PID/stat (proc_pid_stat(5)). The role is roleKernel for a
// thread of the kernel, and otherwise left open.
func parseTask(pid int, text string) (taskName, task, error) {
	// The name stands in parentheses and may hold anything, parentheses too.
	rest := ""
	if i := strings.LastIndexByte(text, ')'); i >= 0 {
		rest = text[i+1:]
	}
	fields := strings.Fields(rest) // the first is number 3 of the manual, the state
	if len(fields) < 20 {
		return taskName{}, task{}, fmt.Errorf("parse /proc/%d/stat: %w: %q", pid, errKernelText, text)
	}
	var numbers [3]uint64 // flags, utime, stime
	for i, at := range [...]int{9 - 3, 14 - 3, 15 - 3} {
		var err error
		if numbers[i], err = strconv.ParseUint(fields[at], 10, 64); err != nil {
			return taskName{}, task{}, fmt.Errorf("parse /proc/%d/stat: %w: %w", pid, errKernelText, err)
		}
	}
	one := task{busy: ticks(numbers[1] + numbers[2])}
	if numbers[0]&kernelThread != 0 {
		one.role = roleKernel
	}
	return taskName{pid, fields[22-3]}, one, nil
}

// parseBusy reads the sum of all processors from what /proc/stat holds.
func parseBusy(text string) (time.Duration, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) <= 1+busyFields[len(busyFields)-1] || fields[0] != "cpu" {
		return 0, fmt.Errorf("parse /proc/stat: %w: %q", errKernelText, line)
	}
	sum := uint64(0)
	for _, i := range busyFields {
		value, err := strconv.ParseUint(fields[1+i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse /proc/stat: %w: %w", errKernelText, err)
		}
		sum += value
	}
	return ticks(sum), nil
}

func ticks(n uint64) time.Duration { return time.Duration(n) * (time.Second / userHertz) }
