// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"strings"
)

// A Region is one mapping of a process: a line of proc/PID/maps (proc_pid_maps(5)).
type Region struct {
	Start, End uint64 // addresses, End excluded
	Perms      string // as "r-xp"
	Path       string // empty for anonymous memory
}

// Accessible reports whether the process can read, write or execute any of it.
func (r Region) Accessible() bool { return strings.ContainsAny(r.Perms, "rwx") }

// Writable reports whether the process can write to it.
func (r Region) Writable() bool { return strings.Contains(r.Perms, "w") }

// Maps returns the mappings of the calling process in the order of their addresses.
func (r Root) Maps() ([]Region, error) {
	text, err := os.ReadFile(r.Path("proc/self/maps"))
	if err != nil {
		return nil, err
	}
	return parseMaps(string(text))
}

// parseMaps reads the text of a maps file.
func parseMaps(text string) ([]Region, error) {
	var all []Region
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		var r Region
		var offset, inode uint64
		var device string
		n, err := fmt.Sscanf(line, "%x-%x %4s %x %s %d", &r.Start, &r.End, &r.Perms, &offset, &device, &inode)
		if n != 6 || err != nil || r.End < r.Start {
			return nil, fmt.Errorf("parse maps: unexpected line %q", line)
		}
		if inode != 0 {
			// The path is the rest of the line and may hold spaces; a memory file has an inode and
			// a path too.
			if at := strings.IndexByte(line, '/'); at >= 0 {
				r.Path = line[at:]
			}
		}
		all = append(all, r)
	}
	return all, nil
}
