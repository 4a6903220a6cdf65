// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// GroupMove is what a keeper has done about its control group. It does that before it takes memory,
// since memory stays charged to the group in which it was taken.
type GroupMove struct {
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

// SettleGroup moves the process from a control group with a memory limit to the highest group, and
// protects a group of cgroup v2 that holds no other program. It does what it is allowed. ram is as
// for CheckGroup.
func SettleGroup(root host.Root, ram uint64) (m GroupMove) {
	limits, err := root.MemoryLimits(ram)
	if err != nil {
		return m // CheckGroup reports it
	}
	for _, top := range topsOf(limits) {
		if err := leaveFor(root, top, limits); err != nil {
			m.Stayed = err.Error()
		} else if m.Left == "" {
			m.Left = limits[slices.IndexFunc(limits, func(l host.MemoryLimit) bool { return l.Top == top })].File
		}
	}
	if m.Left == "" {
		m.Own = protectOwn(root)
	}
	return m
}

// topsOf returns the mount points of the hierarchies with limits.
func topsOf(limits []host.MemoryLimit) (tops []string) {
	for _, l := range limits {
		if len(tops) == 0 || tops[len(tops)-1] != l.Top {
			tops = append(tops, l.Top)
		}
	}
	return tops
}

// leaveFor moves the process to the group top, unless that is limited as well.
func leaveFor(root host.Root, top string, limits []host.MemoryLimit) error {
	f, err := openTop(root, top, limits)
	if err != nil {
		return err
	}
	_, err = f.WriteString("0") // the writing process (cgroups(7))
	return errors.Join(err, f.Close())
}

// openTop opens the list of processes of the group top for writing.
func openTop(root host.Root, top string, limits []host.MemoryLimit) (*os.File, error) {
	for _, l := range limits {
		if filepath.Dir(l.File) == top {
			return nil, errTopLimit
		}
	}
	return os.OpenFile(root.Path(top, "cgroup.procs"), os.O_WRONLY, 0)
}

// mayLeave returns why SettleGroup could not leave all limited groups. It changes nothing.
func mayLeave(root host.Root, limits []host.MemoryLimit) error {
	for _, top := range topsOf(limits) {
		f, err := openTop(root, top, limits)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
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
	for _, pid := range strings.Fields(string(text)) {
		// A process that we cannot see is listed as 0.
		if other, err := os.Readlink(root.Path("proc", pid, "exe")); err != nil || other != program {
			return false
		}
	}
	return true
}

// Settled adds the outcome of SettleGroup to that of CheckGroup.
func Settled(p Protection, m GroupMove) Protection {
	switch {
	case p.State == StateOK && m.Left != "":
		p.Detail = fmt.Sprintf("%s; left the group that %s limits", p.Detail, m.Left)
	case p.State == StateOK && m.Own != "":
		p.Detail = fmt.Sprintf("%s; %s has memory.swap.max 0 and memory.min max", p.Detail, m.Own)
	case m.Stayed != "":
		p.Detail = fmt.Sprintf("%s. It could not be left: %s", p.Detail, m.Stayed)
	}
	return p
}

// foreseeGroup returns what CheckGroup would find after SettleGroup.
func foreseeGroup(root host.Root, ram uint64) Protection {
	p := CheckGroup(root, ram)
	limits, err := root.MemoryLimits(ram)
	if err != nil || len(limits) == 0 {
		return p
	}
	if err := mayLeave(root, limits); err != nil {
		return Settled(p, GroupMove{Stayed: err.Error()})
	}
	p.State = StateOK
	p.Detail = fmt.Sprintf("%s is %d: the device's processes will leave this group", limits[0].File, limits[0].Bytes)
	return p
}
