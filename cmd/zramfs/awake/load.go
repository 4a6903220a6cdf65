// SPDX-License-Identifier: Apache-2.0

package awake

import (
	"os"
	"strconv"
	"strings"
)

// A load is what the processors have done since the machine started, in ticks of the kernel
// (proc(5), the first line of /proc/stat).
type load struct {
	idle, all uint64 // all is 0 where it cannot be read
}

// readLoad reads the load. The file may be long, but only its first line is wanted.
func readLoad() load {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return load{}
	}
	defer f.Close()
	var text [256]byte
	n, err := f.Read(text[:])
	if err != nil {
		return load{}
	}
	line, _, _ := strings.Cut(string(text[:n]), "\n")
	return parseLoad(line)
}

// parseLoad parses the first line of /proc/stat. The time of guests, which follows the steal time,
// is in that of users.
func parseLoad(line string) (l load) {
	const idle, iowait, steal = 4, 5, 8
	fields := strings.Fields(line)
	if len(fields) <= steal || fields[0] != "cpu" {
		return load{}
	}
	for i := 1; i <= steal; i++ {
		n, err := strconv.ParseUint(fields[i], 10, 64)
		if err != nil {
			return load{}
		}
		l.all += n
		if i == idle || i == iowait {
			l.idle += n
		}
	}
	return l
}

// idleSince returns the share of idle time since an earlier reading, in per cent. A processor that
// polls is idle.
func (l load) idleSince(earlier load) (share int, ok bool) {
	if earlier.all == 0 || l.all <= earlier.all || l.idle < earlier.idle {
		return 0, false
	}
	return int((l.idle - earlier.idle) * 100 / (l.all - earlier.all)), true
}
