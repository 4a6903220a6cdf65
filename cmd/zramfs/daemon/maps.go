// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"strings"
)

// region is one line of /proc/PID/maps (proc_pid_maps(5)).
type region struct {
	start, end uint64 // addresses, end excluded
	perms      string // as "r-xp"
	path       string // empty for anonymous memory
}

func (r region) accessible() bool { return strings.ContainsAny(r.perms, "rwx") }

func (r region) writable() bool { return strings.Contains(r.perms, "w") }

// parseMaps reads the text of a maps file.
func parseMaps(text string) ([]region, error) {
	var all []region
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		var r region
		var offset, inode uint64
		var device string
		n, err := fmt.Sscanf(line, "%x-%x %4s %x %s %d", &r.start, &r.end, &r.perms, &offset, &device, &inode)
		if n != 6 || err != nil || r.end < r.start {
			return nil, fmt.Errorf("parse maps: unexpected line %q", line)
		}
		if inode != 0 {
			// The path is the rest of the line and may hold spaces; a memory file has an inode and a path
			// too.
			if at := strings.IndexByte(line, '/'); at >= 0 {
				r.path = line[at:]
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// zeroDataLimit is how much of a program's zero-initialised data is taken; it has 256 KiB that are
// used. The linker sorts variables by size, so that a few very large ones come last, such as the 32
// MiB that crypto/internal/fips140/drbg has for a purpose that we do not have.
const zeroDataLimit = 320 << 10

// executableRegions returns what holds the program at path: its file mappings and the first of the
// zero-initialised data that the loader put behind them.
func executableRegions(all []region, path string) []region {
	var own []region
	end := uint64(0)
	for _, r := range all {
		switch {
		case r.path == path:
			end = r.end
		case r.path == "" && r.start == end:
			r.end = min(r.end, r.start+zeroDataLimit)
		default:
			continue
		}
		if r.accessible() {
			own = append(own, r)
		}
	}
	return own
}
