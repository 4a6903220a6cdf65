// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"strings"
)

// Usage is what a process takes of the machine's memory, in bytes, and its parent
// (proc_pid_status(5)).
type Usage struct {
	Anon   uint64 // RssAnon: heap, stacks and data
	File   uint64 // RssFile: code and tables, which processes of one program share
	Tables uint64 // VmPTE: page tables
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
		}
	}
	return u
}
