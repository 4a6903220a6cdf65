// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// A Capability is a bit in the capability sets of proc/PID/status
// (include/uapi/linux/capability.h).
type Capability int

// The capabilities that a device needs.
const (
	CapIPCLock     Capability = 14 // CapIPCLock is for locking memory without limit.
	CapSysAdmin    Capability = 21 // CapSysAdmin is for mounts, loop devices and swap.
	CapSysNice     Capability = 23 // CapSysNice is for real-time scheduling.
	CapSysResource Capability = 24 // CapSysResource is for the OOM score and PR_SET_IO_FLUSHER.
)

// HasCapability reports whether the process has c in its effective set.
func (r Root) HasCapability(c Capability) (bool, error) {
	text, err := r.Field("proc/self/status", "CapEff")
	if err != nil {
		return false, err
	}
	set, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return false, fmt.Errorf("read the capabilities: %w", err)
	}
	return set>>c&1 == 1, nil
}

// InFirstUserNamespace reports whether the process is in the first user namespace, whose map of
// users is the identity (user_namespaces(7)). Capabilities in another one do not count for the
// machine. A kernel without user namespaces has only the first.
func (r Root) InFirstUserNamespace() (bool, error) {
	text, err := r.Read("proc/self/uid_map")
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return strings.Join(strings.Fields(text), " ") == "0 0 4294967295", err
}

// OuterUser returns the number that the effective user of the process has outside of its user
// namespace; false where it has none.
func (r Root) OuterUser() (uid int, ok bool) {
	text, err := os.ReadFile(r.Path("proc/self/uid_map"))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		var inside, outside, count int
		_, err := fmt.Sscan(line, &inside, &outside, &count)
		if own := os.Geteuid(); err == nil && own >= inside && own < inside+count {
			return outside + own - inside, true
		}
	}
	return 0, false
}
