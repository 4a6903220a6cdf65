// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/moby/sys/mountinfo"
)

// NoMemoryLimit is below what cgroup v1 shows for a group without a limit (PAGE_COUNTER_MAX in the
// kernel's page_counter.h) and above the memory of any machine.
const NoMemoryLimit = 1 << 62

// A MemoryGroup is a control group of the memory controller together with the groups below it.
// Sizes are in bytes.
type MemoryGroup struct {
	Dir      string // relative to the Root
	Limit    uint64 // NoMemoryLimit or more stands for none
	Resident uint64 // in memory, in pages that the kernel can neither drop nor write to a file
	Swapped  uint64 // in swap and not in memory as well
	// SwapUncounted means that the kernel does not count swap by control group.
	SwapUncounted bool
}

// A MemoryHierarchy is the hierarchy of control groups that has the memory controller.
type MemoryHierarchy struct {
	Top       string // mount point, relative to the Root; empty where no such hierarchy is mounted
	LimitFile string // name of the control file with the limit of a group
	V2        bool   // cgroup v2
	root      Root
	mount     *mountinfo.Info // what Top shows of the hierarchy
}

// MemoryHierarchy finds the hierarchy that has the memory controller, which is one of all
// (cgroups(7)).
func (r Root) MemoryHierarchy() (h MemoryHierarchy, err error) {
	mounts, err := r.Mounts()
	if err != nil {
		return h, err
	}
	// A mount may show a part of the hierarchy only, and another one all of it.
	slices.SortStableFunc(mounts, func(a, b *mountinfo.Info) int { return len(a.Root) - len(b.Root) })
	for _, m := range mounts {
		switch {
		case m.FSType == "cgroup" && hasWord(m.VFSOptions, "memory"):
			return MemoryHierarchy{Top: m.Mountpoint, LimitFile: "memory.limit_in_bytes", root: r, mount: m}, nil
		case m.FSType == "cgroup2" && h.Top == "":
			controllers, err := r.Read(filepath.Join(m.Mountpoint, "cgroup.controllers"))
			if err == nil && slices.Contains(strings.Fields(controllers), "memory") {
				h = MemoryHierarchy{Top: m.Mountpoint, LimitFile: "memory.max", V2: true, root: r, mount: m}
			}
		}
	}
	return h, nil
}

// Walk calls visit with each group, Top first, until ctx ends; the error is the cause of that end
// then. A group takes about a tenth of a millisecond. Walk leaves out groups that are removed while
// it reads.
func (h MemoryHierarchy) Walk(ctx context.Context, visit func(MemoryGroup)) error {
	for todo := []string{h.Top}; len(todo) > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		g, err := h.Group(dir)
		if err == nil {
			visit(g)
			var below []string
			below, err = h.below(dir)
			todo = append(todo, below...)
		}
		if err != nil && !removed(err) {
			return err
		}
	}
	return nil
}

// below returns the directories of the groups directly below the one at dir.
func (h MemoryHierarchy) below(dir string) (dirs []string, err error) {
	entries, err := os.ReadDir(h.root.Path(dir))
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	return dirs, err
}

// removed recognises a group that was removed, before its file was opened or after.
func removed(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) }

// Group reads the group at dir, which is relative to the Root. The error is fs.ErrNotExist where
// dir is no group of the memory controller.
func (h MemoryHierarchy) Group(dir string) (MemoryGroup, error) {
	if h.V2 {
		return h.groupV2(dir)
	}
	return h.groupV1(dir)
}

// groupV1 reads a group of cgroup v1 (Documentation/admin-guide/cgroup-v1/memory.rst). The fields
// of memory.stat that begin with total_ count the groups below. The files of groups above the top
// are out of sight, but memory.stat of the top has the lowest of their limits.
//
// Resident comes from the lists of the LRU, since rss leaves out shared and locked memory. A page
// is charged to memory or to swap, never to both.
func (h MemoryHierarchy) groupV1(dir string) (MemoryGroup, error) {
	g := MemoryGroup{Dir: dir}
	var err error
	if g.Limit, err = h.root.number(filepath.Join(dir, h.LimitFile)); err != nil {
		return MemoryGroup{}, err
	}
	if g.Limit >= NoMemoryLimit && dir != h.Top {
		return g, nil
	}
	name := filepath.Join(dir, "memory.stat")
	stat, err := h.root.stat(name)
	if err != nil {
		return MemoryGroup{}, err
	}
	if dir == h.Top {
		limit, ok := stat["hierarchical_memory_limit"]
		if !ok {
			return MemoryGroup{}, fmt.Errorf("read %s: no hierarchical_memory_limit in it", h.root.Path(name))
		}
		g.Limit = limit
	}
	g.Resident = stat["total_active_anon"] + stat["total_inactive_anon"] + stat["total_unevictable"]
	swapped, counted := stat["total_swap"]
	g.Swapped, g.SwapUncounted = swapped, !counted
	return g, nil
}

// groupV2 reads a group of cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), whose every number
// counts the groups below. The top of the whole hierarchy has no limit. Elsewhere a directory
// without one is not under the controller, and nothing below it is.
//
// A page that was read back keeps its slot in swap, and is charged to both, until the kernel wants
// the slot.
func (h MemoryHierarchy) groupV2(dir string) (MemoryGroup, error) {
	name := filepath.Join(dir, h.LimitFile)
	limit, err := h.root.Read(name)
	if limit == "max" || dir == h.Top && errors.Is(err, fs.ErrNotExist) {
		return MemoryGroup{Dir: dir, Limit: NoMemoryLimit}, nil
	}
	if err != nil {
		return MemoryGroup{}, err
	}
	g := MemoryGroup{Dir: dir}
	if g.Limit, err = strconv.ParseUint(limit, 10, 64); err != nil {
		return MemoryGroup{}, fmt.Errorf("read %s: %w", h.root.Path(name), err)
	}
	swapped, err := h.root.number(filepath.Join(dir, "memory.swap.current"))
	g.SwapUncounted = errors.Is(err, fs.ErrNotExist)
	if err != nil && !g.SwapUncounted {
		return MemoryGroup{}, err
	}
	stat, err := h.root.stat(filepath.Join(dir, "memory.stat"))
	if err != nil {
		return MemoryGroup{}, err
	}
	g.Resident = stat["active_anon"] + stat["inactive_anon"] + stat["unevictable"]
	g.Swapped = swapped - min(swapped, stat["swapcached"])
	return g, nil
}

// stat reads a file of lines with a name and a number.
func (r Root) stat(name string) (map[string]uint64, error) {
	text, err := r.Read(name)
	if err != nil {
		return nil, err
	}
	stat := make(map[string]uint64)
	for line := range strings.Lines(text) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if stat[field], err = strconv.ParseUint(value, 10, 64); err != nil {
			return nil, fmt.Errorf("read %s: %w", r.Path(name), err)
		}
	}
	return stat, nil
}
