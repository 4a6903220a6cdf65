// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The kernel's lists of CPUs (Documentation/admin-guide/cputopology.rst).
const (
	possibleCPUs = "/sys/devices/system/cpu/possible"
	onlineCPUs   = "/sys/devices/system/cpu/online"
)

// CPUs is how many queues the kernel wants and which threads serve them. The zero value is of no
// use: take it from [ReadCPUs].
type CPUs struct {
	// queues is the number of possible CPUs: the kernel uses the rings only when each has an entry
	// (fs/fuse/dev_uring.c). Immutable.
	queues int
	// online holds the running CPUs, with one thread each. Immutable.
	online []int
}

// ReadCPUs reads the possible and the running CPUs from sysfs.
func ReadCPUs() (CPUs, error) {
	possible, err := readList(possibleCPUs)
	if err != nil {
		return CPUs{}, err
	}
	online, err := readList(onlineCPUs)
	if err != nil {
		return CPUs{}, err
	}
	return newCPUs(possible, online)
}

func newCPUs(possible, online []int) (CPUs, error) {
	c := CPUs{queues: len(possible)}
	for _, cpu := range online {
		// The kernel numbers the queues by CPU but makes as many as there are possible CPUs. A CPU
		// with a higher number uses queue 0.
		if cpu < c.queues {
			c.online = append(c.online, cpu)
		}
	}
	if len(c.online) == 0 {
		return CPUs{}, fmt.Errorf("count CPUs: %d are possible, none of them is online", c.queues)
	}
	return c, nil
}

// Online returns the CPUs that have a thread.
func (c CPUs) Online() []int { return slices.Clone(c.online) }

// WithOnline returns c with threads for these CPUs in place of those that run now: adopted rings
// need the CPUs of the time when they began. A thread whose CPU is offline does the same work
// unpinned.
func (c CPUs) WithOnline(online []int) (CPUs, error) {
	return newCPUs(make([]int, c.queues), online)
}

// Queues returns the number of queues, one for each possible CPU.
func (c CPUs) Queues() int { return c.queues }

// Workers returns the number of threads, one for each CPU that is online.
func (c CPUs) Workers() int { return len(c.online) }

// A place is an entry: its queue, and the worker that serves the queue.
type place struct{ queue, worker int }

// places lists all entries. An offline CPU may come up later: its queue has a single entry, with
// one of the workers, and is served though slowly.
func (c CPUs) places(entries int) []place {
	var all []place
	for worker, cpu := range c.online {
		for range entries {
			all = append(all, place{cpu, worker})
		}
	}
	for q := range c.queues {
		if !c.isOnline(q) {
			all = append(all, place{q, q % len(c.online)})
		}
	}
	return all
}

// isOnline reports whether the CPU ran when the list was read.
func (c CPUs) isOnline(cpu int) bool { return slices.Contains(c.online, cpu) }

// total returns the number of entries of all workers.
func (c CPUs) total(entries int) int {
	return len(c.online)*entries + c.queues - len(c.online)
}

func readList(path string) ([]int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("count CPUs: %w", err)
	}
	list, err := parseList(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("count CPUs: %s: %w", path, err)
	}
	return list, nil
}

var errList = errors.New("not a list of CPUs")

// maxCPU bounds the numbers in a list; Linux has at most 8192 CPUs.
const maxCPU = 1 << 16

// parseList parses a list like 0-3,8,10-11.
func parseList(text string) ([]int, error) {
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || from < 0 || to < from || to >= maxCPU {
			return nil, fmt.Errorf("%w: %q", errList, text)
		}
		for cpu := from; cpu <= to; cpu++ {
			all = append(all, cpu)
		}
	}
	return all, nil
}
