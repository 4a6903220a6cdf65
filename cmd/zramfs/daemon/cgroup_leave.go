// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
// it is allowed. root is "/" but for tests; ram is as for checkCgroup.
func settleGroup(root string, ram uint64) (m groupMove) {
	limits, err := memoryLimits(root, ram)
	if err != nil {
		return m // checkCgroup says it
	}
	for _, top := range topsOf(limits) {
		if err := leaveFor(root, top, limits); err != nil {
			m.Stayed = err.Error()
		} else if m.Left == "" {
			m.Left = limits[slices.IndexFunc(limits, func(l memoryLimit) bool { return l.top == top })].file
		}
	}
	if m.Left == "" {
		m.Own = protectOwn(root)
	}
	return m
}

// topsOf are the hierarchies in which there are limits.
func topsOf(limits []memoryLimit) (tops []string) {
	for _, l := range limits {
		if len(tops) == 0 || tops[len(tops)-1] != l.top {
			tops = append(tops, l.top)
		}
	}
	return tops
}

// leaveFor moves the process to the group top, unless that is limited as well.
func leaveFor(root, top string, limits []memoryLimit) error {
	f, err := openTop(root, top, limits)
	if err != nil {
		return err
	}
	_, err = f.WriteString("0") // who writes (cgroups(7))
	return errors.Join(err, f.Close())
}

// openTop opens the list of processes of the group top, for a process to be added to it.
func openTop(root, top string, limits []memoryLimit) (*os.File, error) {
	for _, l := range limits {
		if filepath.Dir(l.file) == top {
			return nil, errTopLimit
		}
	}
	return os.OpenFile(filepath.Join(root, top, "cgroup.procs"), os.O_WRONLY, 0)
}

// mayLeave reports why settleGroup would not get the process away from all limits. It changes
// nothing.
func mayLeave(root string, limits []memoryLimit) error {
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
func protectOwn(root string) string {
	dir, err := ownGroup(root)
	if err != nil || !ours(root, dir) {
		return ""
	}
	if set(filepath.Join(root, dir, "memory.swap.max"), "0") != nil || set(filepath.Join(root, dir, "memory.min"), "max") != nil {
		return ""
	}
	return dir
}

// set writes to a control file that exists.
func set(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// ownGroup is where the process's group of cgroup v2 is in the file system.
func ownGroup(root string) (dir string, err error) {
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return "", err
	}
	mounts, err := readMounts(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(groups)) {
		id, _, path, ok := splitGroup(strings.TrimSpace(line))
		for _, m := range mounts {
			if ok && id == "0" && isV2(m) {
				return filepath.Join(m.Mountpoint, belowMount(m, path)), nil
			}
		}
	}
	return "", fs.ErrNotExist
}

// ours reports whether a group and those below it hold processes of this program only.
func ours(root, dir string) bool {
	below, err := filepath.Glob(filepath.Join(root, dir, "*", "cgroup.procs"))
	if err != nil || len(below) > 0 {
		return false
	}
	text, err := os.ReadFile(filepath.Join(root, dir, "cgroup.procs"))
	if err != nil {
		return false
	}
	program, err := os.Readlink(filepath.Join(root, "proc/self/exe"))
	if err != nil {
		return false
	}
	for _, pid := range strings.Fields(string(text)) {
		// A process that we cannot see is listed as 0.
		if other, err := os.Readlink(filepath.Join(root, "proc", pid, "exe")); err != nil || other != program {
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
func foreseeCgroup(root string, ram uint64) Protection {
	p := checkCgroup(root, ram)
	if ram == 0 {
		ram = noLimit
	}
	limits, err := memoryLimits(root, ram)
	if err != nil || len(limits) == 0 {
		return p
	}
	if err := mayLeave(root, limits); err != nil {
		return settled(p, groupMove{Stayed: err.Error()})
	}
	p.State = StateOK
	p.Detail = fmt.Sprintf("%s is %d: the device's processes will leave this group", limits[0].file, limits[0].bytes)
	return p
}
