// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// A GroupLimit is a limit of a control group that the process is in, or of one above it.
type GroupLimit struct {
	Kind  LimitKind
	File  string // the control file, relative to the Root
	Text  string // what the file says
	Top   string // the mount point of the hierarchy, relative to the Root
	Value uint64 // bytes of memory, or how many tasks may be added
	V1    bool   // the hierarchy is one of cgroup v1
}

// LimitKind is what a GroupLimit bounds, by the name of the controller.
type LimitKind string

// The kinds of limit.
const (
	LimitMemory LimitKind = "memory"
	LimitCPU    LimitKind = "cpu"
	LimitTasks  LimitKind = "pids"
)

// limitFiles are the control files of the limits.
var limitFiles = []struct {
	kind LimitKind
	v1   bool
	name string
}{
	{LimitMemory, true, "memory.limit_in_bytes"},
	{LimitCPU, true, "cpu.cfs_quota_us"},
	{LimitTasks, true, "pids.max"},
	{LimitMemory, false, "memory.max"},
	{LimitMemory, false, "memory.high"},
	{LimitCPU, false, "cpu.max"},
	{LimitTasks, false, "pids.max"},
}

// GroupLimits returns the limits of the process's control groups: those of memory that are lower
// than the memory of the machine, ram, in bytes, where 0 stands for an unknown size; those that
// leave room for fewer tasks than this number; and those of processor time. Limits of cgroup v1
// come first, of each kind the process's own group before those above it.
func (r Root) GroupLimits(ram uint64, tasks int) (all []GroupLimit, err error) {
	if ram == 0 {
		ram = NoMemoryLimit
	}
	groups, err := r.Groups("self")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a kernel without control groups
	}
	if err != nil {
		return nil, err
	}
	for _, f := range limitFiles {
		for _, g := range groups {
			if g.V2() == f.v1 || f.v1 && !g.Has(string(f.kind)) {
				continue
			}
			for dir := range g.up() {
				l := GroupLimit{File: filepath.Join(dir, f.name), Top: g.Top, V1: f.v1, Kind: f.kind}
				counts, err := r.limit(&l, ram, uint64(tasks))
				if err != nil {
					return nil, err
				}
				if counts {
					all = append(all, l)
				}
			}
		}
	}
	return all, nil
}

// limit reads the file of l, and reports whether GroupLimits returns it.
func (r Root) limit(l *GroupLimit, ram, tasks uint64) (counts bool, err error) {
	text, n, limited, err := r.readLimit(l.File)
	if err != nil || !limited {
		return false, err
	}
	switch l.Text = text; l.Kind {
	case LimitMemory:
		l.Value = n
		return n < ram, nil
	case LimitTasks:
		now, err := r.number(filepath.Join(filepath.Dir(l.File), "pids.current"))
		l.Value = n - min(now, n)
		return l.Value < tasks, err
	}
	return true, nil
}

// Group returns the directory of the process's group of cgroup v2, relative to the Root. The error
// is fs.ErrNotExist where there is none.
func (r Root) Group() (dir string, err error) {
	groups, err := r.Groups("self")
	if err != nil {
		return "", err
	}
	for _, g := range groups {
		if g.V2() {
			return g.Dir, nil
		}
	}
	return "", fs.ErrNotExist
}

// GroupsOf returns the directories of the control groups that can bound the memory of a process,
// relative to the Root: in each hierarchy that a mount shows its own group, then those above it.
func (r Root) GroupsOf(pid int) (dirs []string, err error) {
	groups, err := r.Groups(strconv.Itoa(pid))
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.V2() || g.Has("memory") {
			dirs = slices.AppendSeq(dirs, g.up())
		}
	}
	return dirs, nil
}

// FrozenBy returns the control file of the group of a process, or of one above it, that is frozen,
// and what to write there to end that. The file is empty where none is.
func (r Root) FrozenBy(pid int) (file, thaw string) {
	groups, err := r.Groups(strconv.Itoa(pid))
	if err != nil {
		return "", ""
	}
	for _, g := range groups {
		name, write, thaw := "freezer.self_freezing", "freezer.state", "THAWED"
		switch {
		case g.V2():
			name, write, thaw = "cgroup.freeze", "cgroup.freeze", "0"
		case !g.Has("freezer"):
			continue
		}
		for dir := range g.up() {
			if text, err := r.Read(filepath.Join(dir, name)); err == nil && text == "1" {
				return filepath.Join(dir, write), thaw
			}
		}
	}
	return "", ""
}

// A Group is the control group of a process in a hierarchy that a mount shows.
type Group struct {
	Dir string // relative to the Root
	Top string // the mount point, relative to the Root
	group
}

// V2 reports whether the hierarchy is that of cgroup v2.
func (g Group) V2() bool { return g.v2() }

// Has reports whether the hierarchy is that of a controller in cgroup v1.
func (g Group) Has(controller string) bool { return hasWord(g.controllers, controller) }

// up goes through the directories of the group and of those above it that the mount shows.
func (g Group) up() iter.Seq[string] {
	return func(yield func(string) bool) {
		for dir := g.Dir; yield(dir) && dir != g.Top; {
			dir = filepath.Dir(dir)
		}
	}
}

// Groups returns the groups of a process, which is a number or "self", in the hierarchies that a
// mount shows: the first of several mounts.
func (r Root) Groups(process string) (all []Group, err error) {
	groups, err := r.groups(process)
	if err != nil {
		return nil, err
	}
	mounts, err := r.Mounts()
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if at := slices.IndexFunc(mounts, g.in); at >= 0 {
			top := mounts[at].Mountpoint
			all = append(all, Group{Dir: filepath.Join(top, belowMount(mounts[at], g.path)), Top: top, group: g})
		}
	}
	return all, nil
}

// group is a line of proc/PID/cgroup (cgroups(7)): hierarchy-ID:controller-list:cgroup-path.
type group struct{ id, controllers, path string }

func (g group) v2() bool { return g.id == "0" }

// in reports whether m shows the hierarchy of g.
func (g group) in(m *mountinfo.Info) bool {
	if g.v2() {
		return m.FSType == "cgroup2"
	}
	first, _, _ := strings.Cut(g.controllers, ",")
	return m.FSType == "cgroup" && hasWord(m.VFSOptions, first)
}

func hasWord(list, word string) bool { return slices.Contains(strings.Split(list, ","), word) }

// groups returns the groups of a process, which is a number or "self".
func (r Root) groups(process string) (all []group, err error) {
	text, err := os.ReadFile(r.Path("proc", process, "cgroup"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		id, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, ok2 := strings.Cut(rest, ":")
		if !ok || !ok2 {
			return nil, fmt.Errorf("parse /proc/%s/cgroup: unexpected line %q", process, line)
		}
		all = append(all, group{id, controllers, path})
	}
	return all, nil
}

// belowMount returns where the group at path lies below the mount point. A mount may show a part of
// the hierarchy only, as in a container; a path outside it stands for the top of that part.
func belowMount(m *mountinfo.Info, path string) string {
	rel, err := filepath.Rel(m.Root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "/"
	}
	return filepath.Join("/", rel)
}

// readLimit reads a limit, whose first word is the number. The words max and -1, and a missing
// file, as the highest group has it, are no limit.
func (r Root) readLimit(file string) (text string, n uint64, limited bool, err error) {
	text, err = r.Read(file)
	first, _, _ := strings.Cut(text, " ") // the period of cpu.max follows
	if errors.Is(err, fs.ErrNotExist) || err == nil && (first == "max" || first == "-1") {
		return "", 0, false, nil
	}
	if err != nil {
		return "", 0, false, err
	}
	n, err = strconv.ParseUint(first, 10, 64)
	if err != nil {
		return "", 0, false, fmt.Errorf("parse %s: %w", file, err)
	}
	return text, n, true, nil
}
