// SPDX-License-Identifier: Apache-2.0

package pmqos

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
)

// A load is what the processors have done since the machine started, in ticks of the kernel
// (proc(5), the first line of /proc/stat).
type load struct {
	idle, all uint64 // all is 0 where it cannot be read
}

// readLoad reads the load from the open /proc/stat, whose first line it is.
func readLoad(stat *os.File) load {
	var text [256]byte
	if n, err := stat.ReadAt(text[:], 0); err == nil || n > 0 {
		line, _, _ := strings.Cut(string(text[:n]), "\n")
		return parseLoad(line)
	}
	return load{}
}

// countProcessors returns how many processors of the machine are online, which all poll while the
// request is held: the lines "cpu0", "cpu1" and so on of /proc/stat. A process may be confined to
// fewer.
func countProcessors(m host.Root) (n int) {
	text, err := m.Read("proc/stat")
	if err != nil {
		return runtime.NumCPU()
	}
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(line, " "); strings.HasPrefix(name, "cpu") && name != "cpu" {
			n++
		}
	}
	return n
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
