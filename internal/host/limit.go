// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"strings"
)

// Unlimited is the value of a resource limit that is none.
const Unlimited = "unlimited"

// LockLimit returns the soft limit RLIMIT_MEMLOCK of the process, which is a number of bytes or
// Unlimited (proc_pid_limits(5)).
func (r Root) LockLimit() (string, error) {
	const file, name = "proc/self/limits", "Max locked memory"
	text, err := r.Read(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				return fields[0], nil
			}
		}
	}
	return "", fmt.Errorf("read %s: no %q in it", r.Path(file), name)
}
