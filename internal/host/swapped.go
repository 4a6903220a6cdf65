// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// A Swapped is a process with pages in swap.
type Swapped struct {
	PID  int
	Name string // as in /proc/PID/comm
	// Bytes is VmSwap (proc_pid_status(5)): private pages in swap. A page that several processes
	// share after a fork counts in each. Shared memory and tmpfs do not count.
	Bytes uint64
	// Group is the path of its group of the memory controller, as /proc/PID/cgroup shows it; empty
	// where the kernel shows none.
	Group string
}

// SwappedProcesses returns the processes with pages in swap, those with the most first. It needs no
// privilege and reads nothing that may lie in swap: no process is disturbed by it. Processes that
// end during the call are left out.
func (r Root) SwappedProcesses() ([]Swapped, error) {
	entries, err := os.ReadDir(r.Path("proc"))
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all, mounted := []Swapped{}, false
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		mounted = true // this process is there
		use, err := r.Usage(e.Name())
		if err != nil || use.Swap == 0 {
			continue
		}
		p, ok := r.Process(pid)
		if !ok {
			continue
		}
		all = append(all, Swapped{PID: pid, Name: p.Name, Bytes: use.Swap, Group: r.memoryGroup(e.Name())})
	}
	if !mounted {
		return nil, errors.New("list processes: /proc is not mounted")
	}
	slices.SortFunc(all, func(a, b Swapped) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.PID, b.PID))
	})
	return all, nil
}

// memoryGroup returns the path of a process's group: that of the memory controller of cgroup v1,
// else that of cgroup v2.
func (r Root) memoryGroup(process string) string {
	groups, err := r.groups(process)
	if err != nil {
		return ""
	}
	path := ""
	for _, g := range groups {
		switch {
		case hasWord(g.controllers, "memory"):
			return g.path
		case g.v2():
			path = g.path
		}
	}
	return path
}
