// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"strconv"
	"strings"
)

// A Capability is a bit in the capability sets of proc/PID/status
// (include/uapi/linux/capability.h).
type Capability int

// The capabilities that a device needs.
const (
	CapIPCLock     Capability = 14 // CapIPCLock is for locking memory without limit.
	CapSysChroot   Capability = 18 // CapSysChroot is for entering a mount namespace.
	CapSysAdmin    Capability = 21 // CapSysAdmin is for mounts, loop devices and swap.
	CapSysNice     Capability = 23 // CapSysNice is for real-time scheduling.
	CapSysResource Capability = 24 // CapSysResource is for the OOM score and PR_SET_IO_FLUSHER.
)

// HasCapability reports whether the process has c in its effective set.
func (r Root) HasCapability(c Capability) (bool, error) { return r.hasCapability("self", c) }

// IsPrivileged reports whether a process is of root, as seen from this user namespace, and has
// [CapSysAdmin].
func (r Root) IsPrivileged(pid int) (bool, error) {
	process := strconv.Itoa(pid)
	text, err := r.Field("proc/"+process+"/status", "Uid")
	users := strings.Fields(text) // real, effective, saved, of files
	if err != nil || len(users) < 2 || users[1] != "0" {
		return false, err
	}
	return r.hasCapability(process, CapSysAdmin)
}

func (r Root) hasCapability(process string, c Capability) (bool, error) {
	text, err := r.Field("proc/"+process+"/status", "CapEff")
	if err != nil {
		return false, err
	}
	set, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return false, fmt.Errorf("read the capabilities: %w", err)
	}
	return set>>c&1 == 1, nil
}

// RealUser returns the number of the real user of the process in its user namespace.
func (r Root) RealUser() (uid int, err error) {
	text, err := r.Field("proc/self/status", "Uid")
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscan(text, &uid); err != nil {
		return 0, fmt.Errorf("read the user of the process: %w", err)
	}
	return uid, nil
}
