// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// CgroupMove is what a keeper has done about its control group. It does that before it takes
// memory, since memory stays charged to the group in which it was taken.
type CgroupMove struct {
	// Left is the control file of the limit whose group it has left; empty where there was none.
	Left string `json:"left,omitempty"`
	// Stayed is why it could not leave; empty where it did.
	Stayed string `json:"stayed,omitempty"`
	// Own is the group of cgroup v2 that it has excluded from swap and reclaim, since the group
	// holds only this program.
	Own string `json:"own,omitempty"`
}

// errTopLimit means that there is no visible group above the limit.
var errTopLimit = errors.New("the limit is that of the highest group in sight")

// SettleCgroup moves the process to the highest group of each hierarchy where its own could slow it
// down, stop it or end it, and protects a group of cgroup v2 that holds no other program. It does
// what it is allowed. The arguments are those of CheckCgroup.
func SettleCgroup(root host.Root, ram uint64, tasks int) (m CgroupMove) {
	limits, err := root.GroupLimits(ram, tasks)
	if err != nil {
		return m // CheckCgroup reports it
	}
	groups, err := root.Groups("self")
	if err != nil {
		return m // a kernel without control groups
	}
	for _, g := range groups {
		limit := slices.IndexFunc(limits, func(l host.GroupLimit) bool { return l.Top == g.Top })
		if limit < 0 {
			if shared(root, g) {
				_ = leaveFor(root, g.Top, nil) // no limit keeps it from serving there
			}
		} else if err := leaveFor(root, g.Top, limits); err != nil {
			m.Stayed = err.Error()
		} else if m.Left == "" {
			m.Left = limits[limit].File
		}
	}
	if m.Left == "" {
		m.Own = protectOwn(root)
	}
	return m
}

// shared reports whether a limit, a freeze or the end of a session that is meant for others in the
// group would be the process's too. A group of cgroup v1 can be left without leaving its service.
func shared(root host.Root, g host.Group) bool {
	if g.Dir == g.Top {
		return false
	}
	if g.V2() {
		return !ours(root, g.Dir)
	}
	return g.Has("freezer") || g.Has("cpu") || g.Has("pids")
}

// leaveFor moves the process to the group top, unless that is limited as well.
func leaveFor(root host.Root, top string, limits []host.GroupLimit) error {
	f, err := openTop(root, top, limits)
	if err != nil {
		return err
	}
	_, err = f.WriteString("0") // the writing process (cgroups(7))
	return errors.Join(err, f.Close())
}

// openTop opens the list of processes of the group top for writing.
func openTop(root host.Root, top string, limits []host.GroupLimit) (*os.File, error) {
	for _, l := range limits {
		if filepath.Dir(l.File) == top {
			return nil, errTopLimit
		}
	}
	return os.OpenFile(root.Path(top, "cgroup.procs"), os.O_WRONLY, 0)
}

// MakeRoom leaves a group whose limit has no room for this number of tasks, and returns an error
// where that is not allowed. A process calls it first: the Go runtime ends one that gets no thread.
func MakeRoom(root host.Root, tasks int) error {
	limits, err := root.GroupLimits(0, tasks)
	if err != nil {
		return nil // CheckCgroup reports it
	}
	for _, l := range limits {
		if l.Kind != host.LimitTasks {
			continue
		}
		if err := leaveFor(root, l.Top, limits); err != nil {
			return fmt.Errorf("%w; the group could not be left: %w", fewTasks(l, tasks), err)
		}
	}
	return nil
}

// protectOwn excludes the process's group of cgroup v2 from swap and reclaim if it holds only this
// program, as that of a service does. It returns the group, or nothing.
func protectOwn(root host.Root) string {
	dir, err := root.Group()
	if err != nil || !ours(root, dir) {
		return ""
	}
	if root.WriteControl(filepath.Join(dir, "memory.swap.max"), "0") != nil || root.WriteControl(filepath.Join(dir, "memory.min"), "max") != nil {
		return ""
	}
	return dir
}

// ours reports whether a group without groups below it holds only processes of this program.
func ours(root host.Root, dir string) bool {
	below, err := filepath.Glob(root.Path(dir, "*", "cgroup.procs"))
	if err != nil || len(below) > 0 {
		return false
	}
	text, err := os.ReadFile(root.Path(dir, "cgroup.procs"))
	if err != nil {
		return false
	}
	program, err := os.Readlink(root.Path("proc/self/exe"))
	if err != nil {
		return false
	}
	for pid := range strings.FieldsSeq(string(text)) {
		// A process that we cannot see is listed as 0.
		if other, err := os.Readlink(root.Path("proc", pid, "exe")); err != nil || other != program {
			return false
		}
	}
	return true
}

// Settled adds the outcome of SettleCgroup to that of CheckCgroup.
func Settled(p status.Protection, m CgroupMove) status.Protection {
	switch {
	case p.State == status.OK && m.Left != "":
		p.Detail = fmt.Sprintf("%s; left the group that %s limits", p.Detail, m.Left)
	case p.State == status.OK && m.Own != "":
		p.Detail = fmt.Sprintf("%s; %s has memory.swap.max 0 and memory.min max", p.Detail, m.Own)
	case m.Stayed != "":
		p.Detail = fmt.Sprintf("%s. It could not be left: %s", p.Detail, m.Stayed)
	}
	return p
}

// foreseeGroup returns what CheckCgroup would find after SettleCgroup.
func foreseeGroup(root host.Root, ram uint64, tasks int) status.Protection {
	limits, err := root.GroupLimits(ram, tasks)
	if err != nil {
		return untold(err)
	}
	var stays, leaves []host.GroupLimit
	var m CgroupMove
	for _, l := range limits {
		f, err := openTop(root, l.Top, limits)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			stays, m.Stayed = append(stays, l), err.Error()
		} else {
			leaves = append(leaves, l)
		}
	}
	p := Settled(judge(stays, tasks), m)
	if len(stays) == 0 && len(leaves) > 0 {
		p.Detail = fmt.Sprintf("%s is %s: the device's processes will leave this group", leaves[0].File, leaves[0].Text)
	}
	return p
}
