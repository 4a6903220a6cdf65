// SPDX-License-Identifier: Apache-2.0

package require

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// NUMA skips the test unless this process may run on processors of at least two nodes that have
// memory, and returns the processors of each.
func NUMA(tb testing.TB) [][]int {
	tb.Helper()
	nodes, missing := tryNUMA("/sys/devices/system/node", "/proc/self/status")
	check(tb, nameNUMA, missing)
	return nodes
}

func tryNUMA(dir, status string) ([][]int, *unmet) {
	const mend = "a machine with several NUMA nodes, and a cpuset that has more than one of them"
	allowed, err := allowedProcessors(status)
	if err != nil {
		return nil, &unmet{err, mend}
	}
	with, err := readList(filepath.Join(dir, "has_memory"))
	if err != nil {
		return nil, &unmet{err, mend}
	}
	var nodes [][]int
	for _, n := range with {
		processors, err := readList(filepath.Join(dir, fmt.Sprintf("node%d", n), "cpulist"))
		if err != nil {
			return nil, &unmet{err, mend}
		}
		processors = slices.DeleteFunc(processors, func(p int) bool { return !slices.Contains(allowed, p) })
		if len(processors) > 0 {
			nodes = append(nodes, processors)
		}
	}
	if len(nodes) < 2 {
		return nil, &unmet{fmt.Errorf("NUMA nodes with memory and processors for this process: %d", len(nodes)), mend}
	}
	return nodes, nil
}

// allowedProcessors reads which processors a process may run on.
func allowedProcessors(status string) ([]int, error) {
	text, err := os.ReadFile(status)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return parseList(list)
		}
	}
	return nil, fmt.Errorf("read %s: no Cpus_allowed_list", status)
}

func readList(path string) ([]int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseList(string(text))
}

// mostListed bounds what a list of the kernel may name, far beyond what any machine has.
const mostListed = 1 << 16

// parseList reads a list of the kernel's, such as 0-3,8.
func parseList(text string) (all []int, err error) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		if part == "" {
			continue
		}
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read list %q: %w", text, err)
		}
		last, err := strconv.ParseUint(to, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read list %q: %w", text, err)
		}
		if last >= mostListed {
			return nil, fmt.Errorf("read list %q: %d is more than %d", text, last, mostListed)
		}
		for n := first; n <= last; n++ {
			all = append(all, int(n))
		}
	}
	return all, nil
}
