// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// firstPIDNamespace names the PID namespace that the kernel starts with (PROC_PID_INIT_INO in the
// kernel's include/linux/proc_ns.h). It is a variable for tests, which link a program for a machine
// that they play; immutable.
var firstPIDNamespace = "pid:[4026531836]"

// InFirstPIDNamespace reports whether the process is in the PID namespace that ends with the
// machine. When another one ends, as that of a container, the kernel kills its processes.
func (r Root) InFirstPIDNamespace() (bool, error) {
	namespace, err := os.Readlink(r.Path("proc/self/ns/pid"))
	return namespace == firstPIDNamespace, err
}

// firstMountNamespace names the mount namespace that the kernel starts with (MNT_NS_INIT_INO in
// include/uapi/linux/nsfs.h, Linux 6.18). Before, its number was not fixed.
const firstMountNamespace = "mnt:[4026531832]"

// InFirstMountNamespace reports whether the process is known to be in the mount namespace that ends
// with the machine: the first one, or that of the machine's first process.
func (r Root) InFirstMountNamespace() (bool, error) {
	own, err := os.Readlink(r.Path("proc/self/ns/mnt"))
	if err != nil || own == firstMountNamespace {
		return err == nil, err
	}
	if first, err := r.InFirstPIDNamespace(); err != nil || !first {
		return false, err
	}
	// Not proc/1/ns/mnt, which needs the capabilities of process 1. The kernel gives each mount of
	// the machine a number of its own.
	mounts, err := r.Mounts()
	if err != nil {
		return false, err
	}
	its, err := r.MountsOf(1)
	if err != nil {
		return false, err
	}
	numbers := make(map[int]bool, len(its))
	for _, m := range its {
		numbers[m.ID] = true
	}
	return slices.ContainsFunc(mounts, func(m *mountinfo.Info) bool { return numbers[m.ID] }), nil
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
