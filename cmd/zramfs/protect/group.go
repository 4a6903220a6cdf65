// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"fmt"
	"path/filepath"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// CheckGroup looks for memory limits on the process's control groups. ram is the size of the
// machine's memory in bytes, 0 where it is unknown; only lower limits count.
func CheckGroup(root host.Root, ram uint64) Protection {
	p := Protection{Name: NameGroup, State: StateOK, Detail: "no memory limit", Essential: true}
	limits, err := root.MemoryLimits(ram)
	if err != nil {
		p.State, p.Detail = StateWarn, fmt.Sprintf("cannot tell whether memory is limited: %v", err)
		return p
	}
	for _, l := range limits {
		if l.V1 {
			p.State = StateFail
			p.Detail = fmt.Sprintf("%s is %d: reclaim in this group can wait for the device itself; leave the group before "+
				"starting it (echo $$ > %s)", l.File, l.Bytes, filepath.Join(l.Top, "cgroup.procs"))
			return p
		}
		p.State = StateWarn
		p.Detail = fmt.Sprintf("%s is %d: the store counts against it, and the process is slowed down or killed there; "+
			"start it in a group without a memory limit", l.File, l.Bytes)
	}
	return p
}
