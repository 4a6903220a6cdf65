// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// Mounts returns the mounts in the namespace of the process.
func (r Root) Mounts() ([]*mountinfo.Info, error) { return r.mountsOf("self") }

// MountsOf returns the mounts in the namespace of another process.
func (r Root) MountsOf(pid int) ([]*mountinfo.Info, error) { return r.mountsOf(strconv.Itoa(pid)) }

func (r Root) mountsOf(process string) (_ []*mountinfo.Info, err error) {
	f, err := os.Open(r.Path("proc", process, "mountinfo"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return mountinfo.GetMountsFromReader(f, nil)
}

// SeesMount reports whether the mount namespace of a process has a mount of the device 0:minor, as
// file systems without a block device have. A pid of 0, which is that of a process outside of our
// PID namespace, sees none. SeesMount opens nothing at a path that the process could choose.
func (r Root) SeesMount(pid, minor int) (bool, error) {
	if pid == 0 {
		return false, nil
	}
	text, err := os.ReadFile(r.Path(fmt.Sprintf("proc/%d/mountinfo", pid)))
	if err != nil {
		return false, err
	}
	device := fmt.Sprintf("0:%d", minor)
	// proc_pid_mountinfo(5): number, number above, device
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(line, " ")
		_, rest, _ = strings.Cut(rest, " ")
		if found, _, ok := strings.Cut(rest, " "); ok && found == device {
			return true, nil
		}
	}
	return false, nil
}
