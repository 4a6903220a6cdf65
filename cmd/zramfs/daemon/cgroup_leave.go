// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// groupMove is what a keeper has done about its control group before it took any memory: what it
// has taken by then stays charged to the group that it was in.
type groupMove struct {
	// Left is the limit that it got away from, as path of the control file; empty where there was
	// none.
	Left string `json:"left,omitempty"`
	// Stayed is why it did not, empty where it did.
	Stayed string `json:"stayed,omitempty"`
	// Own is the group of cgroup v2 that it keeps out of swap and in memory, as one that is its own
	// alone.
	Own string `json:"own,omitempty"`
}

// errTopLimit: there is no group above the limit.
var errTopLimit = errors.New("the limit is that of the highest group in sight")

// settleGroup moves the process out of a control group that limits its memory, to the highest group
// there is, and protects a group of cgroup v2 that holds nobody else. Every step is made as far as
// it is allowed. ram is as for checkCgroup.
func settleGroup(root host.Root, ram uint64) (m groupMove) {
	limits, err := root.MemoryLimits(ram)
	if err != nil {
		return m // checkCgroup says it
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

// topsOf are the hierarchies in which there are limits.
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
	_, err = f.WriteString("0") // who writes (cgroups(7))
	return errors.Join(err, f.Close())
}

// openTop opens the list of processes of the group top, for a process to be added to it.
func openTop(root host.Root, top string, limits []host.MemoryLimit) (*os.File, error) {
	for _, l := range limits {
		if filepath.Dir(l.File) == top {
			return nil, errTopLimit
		}
	}
	return os.OpenFile(root.Path(top, "cgroup.procs"), os.O_WRONLY, 0)
}

// mayLeave reports why settleGroup would not get the process away from all limits. It changes
// nothing.
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

// protectOwn keeps the process's group of cgroup v2 out of swap and in memory, if it holds this
// program alone, as that of a service does. It returns the group, or nothing.
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

// ours reports whether a group and those below it hold processes of this program only.
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

// settled adds to what was found of limits what was done about them.
func settled(p Protection, m groupMove) Protection {
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

// foreseeCgroup is what checkCgroup would find in a process that settleGroup was called in.
func foreseeCgroup(root host.Root, ram uint64) Protection {
	p := checkCgroup(root, ram)
	limits, err := root.MemoryLimits(ram)
	if err != nil || len(limits) == 0 {
		return p
	}
	if err := mayLeave(root, limits); err != nil {
		return settled(p, groupMove{Stayed: err.Error()})
	}
	p.State = StateOK
	p.Detail = fmt.Sprintf("%s is %d: the device's processes will leave this group", limits[0].File, limits[0].Bytes)
	return p
}
