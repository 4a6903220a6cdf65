// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// CheckCgroup looks for limits on the process's control groups: of memory, of processor time, and
// those without room for this number of tasks. ram is the size of the machine's memory in bytes, 0
// where it is unknown; only lower limits count.
func CheckCgroup(root host.Root, ram uint64, tasks int) status.Protection {
	limits, err := root.GroupLimits(ram, tasks)
	if err != nil {
		return untold(err)
	}
	return judge(limits, tasks)
}

func untold(err error) status.Protection {
	return status.Protection{Name: status.NameCgroup, State: status.Warn, Detail: fmt.Sprintf("cannot tell whether a control group has limits: %v", err), Essential: true}
}

// judge describes limits: of each kind the first, which comes from the process's own group if that
// has one.
func judge(limits []host.GroupLimit, tasks int) status.Protection {
	p := status.Protection{Name: status.NameCgroup, State: status.OK, Detail: "no limit", Essential: true}
	var details []string
	seen := map[host.LimitKind]bool{}
	for _, l := range limits {
		if seen[l.Kind] {
			continue
		}
		seen[l.Kind] = true
		state := status.Warn
		switch {
		case l.Kind == host.LimitCPU:
			details = append(details, fmt.Sprintf("%s is %s: when that is used up, the process stands still until the next period, and "+
				"whoever waits for it does; start it in a group without a quota", l.File, l.Text))
		case l.Kind == host.LimitTasks:
			state = status.Fail
			details = append(details, fewTasks(l, tasks).Error())
		case l.V1:
			state = status.Fail
			details = append(details, fmt.Sprintf("%s is %d: reclaim in this group can wait for the device itself; leave the group before "+
				"starting it (echo $$ > %s)", l.File, l.Value, filepath.Join(l.Top, "cgroup.procs")))
		default:
			details = append(details, fmt.Sprintf("%s is %d: the store counts against it, and the process is slowed down or killed there; "+
				"start it in a group without a memory limit", l.File, l.Value))
		}
		if p.State != status.Fail {
			p.State = state
		}
	}
	if len(details) > 0 {
		p.Detail = strings.Join(details, ". ")
	}
	return p
}

// fewTasks is the error of a limit without room for the threads.
func fewTasks(l host.GroupLimit, tasks int) error {
	return fmt.Errorf("%s is %s, which leaves room for %d more threads, and zramfs needs %d: raise it, or start zramfs in another group",
		l.File, l.Text, l.Value, tasks)
}
