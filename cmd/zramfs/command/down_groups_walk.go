// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"
)

// hierarchy is where the groups of the memory controller are; without a top there are none.
type hierarchy struct {
	top       string // mount point
	limitFile string
	read      func(m machine, dir, top string) (group, error) // fs.ErrNotExist for a directory that is no such group
}

// limitFile2 is hierarchy.limitFile of cgroup v2.
const limitFile2 = "memory.max"

// memoryHierarchy finds the hierarchy that has the memory controller, which is one of all
// (cgroups(7)).
func memoryHierarchy(m machine) (h hierarchy, err error) {
	f, err := os.Open(m.path("proc/self/mountinfo"))
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	mounts, err := mountinfo.GetMountsFromReader(f, mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return h, err
	}
	// A mount may show a part of the hierarchy only, and another one all of it.
	slices.SortStableFunc(mounts, func(a, b *mountinfo.Info) int { return len(a.Root) - len(b.Root) })
	for _, mount := range mounts {
		switch {
		case mount.FSType == "cgroup" && slices.Contains(strings.Split(mount.VFSOptions, ","), "memory"):
			return hierarchy{mount.Mountpoint, "memory.limit_in_bytes", readGroup1}, nil
		case mount.FSType == "cgroup2" && h.top == "":
			controllers, err := m.read(filepath.Join(mount.Mountpoint, "cgroup.controllers"))
			if err == nil && slices.Contains(strings.Fields(controllers), "memory") {
				h = hierarchy{mount.Mountpoint, limitFile2, readGroup2}
			}
		}
	}
	return h, nil
}

// groupsTime bounds a walk. A group takes about a tenth of a millisecond.
const groupsTime = 10 * time.Second

// errManyGroups means that the time was over before all groups were read.
var errManyGroups = fmt.Errorf("there are too many to read in %s", groupsTime)

// walk reads all groups until the given time. With an error it returns what it had found by then.
// Groups that go meanwhile are none.
func (h hierarchy) walk(m machine, returning uint64, until time.Time) (found groups, err error) {
	for todo := []string{h.top}; len(todo) > 0; {
		if time.Now().After(until) {
			return found, errManyGroups
		}
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		g, err := h.read(m, dir, h.top)
		if err == nil {
			found.add(g, returning)
			var below []string
			below, err = groupsBelow(m, dir)
			todo = append(todo, below...)
		}
		if err != nil && !gone(err) {
			return found, err
		}
	}
	return found, nil
}

func groupsBelow(m machine, dir string) (dirs []string, err error) {
	entries, err := os.ReadDir(m.path(dir))
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return dirs, err
}

// gone recognises a group that was removed, before its file was opened or after.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) }

// readGroup1 reads a group of cgroup v1 (Documentation/admin-guide/cgroup-v1/memory.rst). The
// fields of memory.stat that begin with total_ count the groups below. Groups above the top are not
// seen, but its memory.stat tells the lowest of their limits.
//
// What is in memory comes from the lists of the LRU, since rss leaves out shared and locked memory.
// A page is charged to memory or to swap, never to both.
func readGroup1(m machine, dir, top string) (group, error) {
	g := group{dir: dir}
	var err error
	if g.limit, err = m.readNumber(filepath.Join(dir, "memory.limit_in_bytes")); err != nil {
		return group{}, err
	}
	if g.limit >= noGroupLimit && dir != top {
		return g, nil
	}
	path := filepath.Join(dir, "memory.stat")
	s, err := readStat(m, path)
	if err != nil {
		return group{}, err
	}
	if dir == top {
		limit, ok := s["hierarchical_memory_limit"]
		if !ok {
			return group{}, fmt.Errorf("read %s: no hierarchical_memory_limit in it", path)
		}
		g.limit = limit
	}
	g.held = s["total_active_anon"] + s["total_inactive_anon"] + s["total_unevictable"]
	swapped, counted := s["total_swap"]
	g.swapped, g.uncounted = swapped, !counted
	return g, nil
}

// readGroup2 reads a group of cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), whose every
// number counts the groups below. The top of the whole hierarchy has no limit. Elsewhere a
// directory without one is not under the controller, and nothing below it is.
//
// A page that was read back keeps its place in swap, and is charged to both, until the kernel wants
// the place.
func readGroup2(m machine, dir, top string) (group, error) {
	path := filepath.Join(dir, limitFile2)
	limit, err := m.read(path)
	if limit == "max" || dir == top && errors.Is(err, fs.ErrNotExist) {
		return group{dir: dir, limit: noGroupLimit}, nil
	}
	if err != nil {
		return group{}, err
	}
	g := group{dir: dir}
	if g.limit, err = strconv.ParseUint(limit, 10, 64); err != nil {
		return group{}, fmt.Errorf("read %s: %w", path, err)
	}
	swapped, err := m.readNumber(filepath.Join(dir, "memory.swap.current"))
	g.uncounted = errors.Is(err, fs.ErrNotExist)
	if err != nil && !g.uncounted {
		return group{}, err
	}
	s, err := readStat(m, filepath.Join(dir, "memory.stat"))
	if err != nil {
		return group{}, err
	}
	g.held = s["active_anon"] + s["inactive_anon"] + s["unevictable"]
	g.swapped = swapped - min(swapped, s["swapcached"])
	return g, nil
}

// readStat reads a file of lines with a name and a number.
func readStat(m machine, path string) (map[string]uint64, error) {
	text, err := m.read(path)
	if err != nil {
		return nil, err
	}
	stat := make(map[string]uint64)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if stat[name], err = strconv.ParseUint(value, 10, 64); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return stat, nil
}
