// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// A MemoryLimit is a memory limit of a control group that the process is in, or of one above it.
type MemoryLimit struct {
	File  string // the control file, relative to the Root
	Top   string // the mount point of the hierarchy, relative to the Root
	Bytes uint64
	V1    bool // the hierarchy is one of cgroup v1
}

// MemoryLimits returns the limits on the memory of the process that are lower than the memory of
// the machine, ram, in bytes; 0 stands for an unknown size. Limits of cgroup v1 come first, the
// process's own group before those above it.
func (r Root) MemoryLimits(ram uint64) ([]MemoryLimit, error) {
	if ram == 0 {
		ram = NoMemoryLimit
	}
	groups, err := r.groups("self")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a kernel without control groups
	}
	if err != nil {
		return nil, err
	}
	mounts, err := r.Mounts()
	if err != nil {
		return nil, err
	}
	var v1, v2 []MemoryLimit
	for _, g := range groups {
		switch {
		case g.v2():
			v2, err = r.limitsUp(mounts, g, "memory.max", "memory.high")
		case hasWord(g.controllers, "memory"):
			v1, err = r.limitsUp(mounts, g, "memory.limit_in_bytes")
		}
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(append(v1, v2...), func(l MemoryLimit) bool { return l.Bytes >= ram }), nil
}

// Group returns the directory of the process's group of cgroup v2, relative to the Root. The error
// is fs.ErrNotExist where there is none.
func (r Root) Group() (dir string, err error) {
	groups, err := r.groups("self")
	if err != nil {
		return "", err
	}
	mounts, err := r.Mounts()
	if err != nil {
		return "", err
	}
	for _, g := range groups {
		for _, m := range mounts {
			if g.v2() && g.in(m) {
				return filepath.Join(m.Mountpoint, belowMount(m, g.path)), nil
			}
		}
	}
	return "", fs.ErrNotExist
}

// GroupsOf returns the directories of the control groups that can bound the memory of a process,
// relative to the Root: in each hierarchy that a mount shows its own group, then those above it.
func (r Root) GroupsOf(pid int) (dirs []string, err error) {
	groups, err := r.groups(strconv.Itoa(pid))
	if err != nil {
		return nil, err
	}
	mounts, err := r.Mounts()
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		at := slices.IndexFunc(mounts, g.in)
		if at < 0 || !g.v2() && !hasWord(g.controllers, "memory") {
			continue
		}
		for dir := belowMount(mounts[at], g.path); ; dir = filepath.Dir(dir) {
			dirs = append(dirs, filepath.Join(mounts[at].Mountpoint, dir))
			if dir == "/" {
				break
			}
		}
	}
	return dirs, nil
}

// group is a line of proc/PID/cgroup (cgroups(7)): hierarchy-ID:controller-list:cgroup-path.
type group struct{ id, controllers, path string }

func (g group) v2() bool { return g.id == "0" }

// in reports whether m shows the hierarchy of g, which for cgroup v1 is that of memory.
func (g group) in(m *mountinfo.Info) bool {
	if g.v2() {
		return m.FSType == "cgroup2"
	}
	return m.FSType == "cgroup" && hasWord(m.VFSOptions, "memory")
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

// limitsUp reads the named files of g and of all groups above it that the first fitting mount
// shows.
func (r Root) limitsUp(mounts []*mountinfo.Info, g group, names ...string) (found []MemoryLimit, err error) {
	at := slices.IndexFunc(mounts, g.in)
	if at < 0 {
		return nil, nil
	}
	top := mounts[at].Mountpoint
	for dir := belowMount(mounts[at], g.path); ; dir = filepath.Dir(dir) {
		for _, name := range names {
			file := filepath.Join(top, dir, name)
			bytes, limited, err := r.readLimit(file)
			if err != nil {
				return nil, err
			}
			if limited {
				found = append(found, MemoryLimit{File: file, Top: top, Bytes: bytes, V1: !g.v2()})
			}
		}
		if dir == "/" {
			return found, nil
		}
	}
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

// readLimit reads a limit in bytes; the word max and a missing file (the root group) are no limit.
func (r Root) readLimit(file string) (bytes uint64, limited bool, err error) {
	text, err := r.Read(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && text == "max" {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	bytes, err = strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("parse %s: %w", file, err)
	}
	return bytes, true, nil
}
