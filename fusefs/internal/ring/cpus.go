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

// Where the kernel lists its CPUs (Documentation/admin-guide/cputopology.rst).
const (
	possibleCPUs = "/sys/devices/system/cpu/possible"
	onlineCPUs   = "/sys/devices/system/cpu/online"
)

// CPUs says how many queues the kernel wants and how many threads serve them.
// The zero value is of no use: take it from [ReadCPUs].
type CPUs struct {
	// queues is how many CPUs there can ever be: the kernel uses the rings only
	// when each of them has an entry (fs/fuse/dev_uring.c). Immutable.
	queues int
	// online holds the CPUs which run now: one thread each. Immutable.
	online []int
}

// ReadCPUs asks the kernel.
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
		// The kernel numbers the queues by CPU but makes as many as there are
		// CPUs, so that one beyond them has none: it uses queue 0 instead.
		if cpu < c.queues {
			c.online = append(c.online, cpu)
		}
	}
	if len(c.online) == 0 {
		return CPUs{}, fmt.Errorf("count CPUs: %d are possible, none of them is online", c.queues)
	}
	return c, nil
}

// Online lists the CPUs that have a thread.
func (c CPUs) Online() []int { return slices.Clone(c.online) }

// WithOnline is c with threads for these CPUs in place of those that run now: who
// adopts rings needs them as they were when the rings began. A thread whose CPU does
// not run has no place of its own and does the same work elsewhere.
func (c CPUs) WithOnline(online []int) (CPUs, error) {
	return newCPUs(make([]int, c.queues), online)
}

// Queues is how many queues there are, one for each possible CPU.
func (c CPUs) Queues() int { return c.queues }

// Workers is how many threads serve them, one for each CPU that is online.
func (c CPUs) Workers() int { return len(c.online) }

// A place is an entry: its queue, and the worker whose task that queue is.
type place struct{ queue, worker int }

// places lists all entries. A CPU that is offline may come up later: its queue
// has a single entry, with one of the workers, and is served though slowly.
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

// isOnline tells whether the CPU ran when the list was read.
func (c CPUs) isOnline(cpu int) bool { return slices.Contains(c.online, cpu) }

// total is how many entries all workers have.
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

// maxCPU bounds what a list may name; Linux has no more than 8192 anywhere.
const maxCPU = 1 << 16

// parseList reads a list like 0-3,8,10-11.
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
