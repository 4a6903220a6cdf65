// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// processUse is the part of /proc/PID/status that says what a process takes of the machine's
// memory, in bytes.
type processUse struct {
	anon   uint64 // RssAnon: heap, stacks and data
	file   uint64 // RssFile: code and tables, which keeper and worker share
	tables uint64 // VmPTE: page tables
	parent string // PPid
}

// parseProcessUse reads the text of a /proc/PID/status. A field that is missing counts nothing.
func parseProcessUse(text string) (u processUse) {
	kib := func(value string) (n uint64) {
		_, _ = fmt.Sscanf(value, "%d kB", &n)
		return n << 10
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); name {
		case "PPid":
			u.parent = value
		case "RssAnon":
			u.anon = kib(value)
		case "RssFile":
			u.file = kib(value)
		case "VmPTE":
			u.tables = kib(value)
		}
	}
	return u
}

// processMemory is what this worker and its keeper take of the machine's memory beside the image,
// in bytes, with the memory of requests, which both map, and their code counted once. The kernel
// keeps these sums, so reading them takes as long for a large device as for a small one. The keeper
// is found by its number in the mount of /proc that there is.
func processMemory(requests uint64, kept bool) uint64 {
	text, err := os.ReadFile(statusPath)
	if err != nil {
		return 0
	}
	own := parseProcessUse(string(text))
	var keeper processUse
	if kept {
		text, err = os.ReadFile(filepath.Join("/proc", own.parent, "status"))
		if err == nil { // else it has just died
			keeper = parseProcessUse(string(text))
		}
	}
	return requests + own.anon + keeper.anon + max(own.file, keeper.file) + own.tables + keeper.tables
}
