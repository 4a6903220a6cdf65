// SPDX-License-Identifier: Apache-2.0

package podswap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/zramfs/zramfs/internal/host"
)

// ErrNoGroups means that the machine has no cgroup v2 with memory in it.
var ErrNoGroups = errors.New("the machine counts memory by cgroup v1, where the kubelet limits no swap: boot it with cgroup v2 " +
	"(systemd.unified_cgroup_hierarchy=1)")

// A Group is the control group of a container, of cgroup v2.
type Group struct {
	Dir      string // relative to the Root
	ID       string // of the container
	PodUID   string
	QOSClass string // by the place of the group
}

// Groups returns the control groups of all containers of pods, by the IDs of the containers. It
// knows the names of the kubelet's drivers systemd and cgroupfs, below any cgroup root. The error
// is ErrNoGroups without cgroup v2.
func Groups(m host.Root) (map[string]Group, error) {
	h, err := m.MemoryHierarchy()
	if err != nil {
		return nil, err
	}
	if !h.V2 {
		return nil, ErrNoGroups
	}
	all := map[string]Group{}
	return all, walk(m, h.Top, 0, Group{}, all)
}

// Depths that groups of pods can have: a cgroup root before kubepods has few, and the way from
// there to a container three.
const (
	maxRootDepth = 4
	maxDepth     = 8
)

// walk looks at the groups below dir. at has what the names above tell.
func walk(m host.Root, dir string, depth int, at Group, all map[string]Group) error {
	entries, err := os.ReadDir(m.Path(dir))
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		g := at
		g.Dir = filepath.Join(dir, e.Name())
		g.read(e.Name())
		if g.ID != "" {
			all[g.ID] = g
			continue
		}
		if deep := depth + 1; deep < maxRootDepth || g.QOSClass != "" && deep < maxDepth {
			if err := walk(m, g.Dir, deep, g, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// read notes what a name tells: kubepods of the class Guaranteed, another class below it, a pod, or
// a container.
func (g *Group) read(name string) {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".slice"), ".scope")
	last := name[strings.LastIndexByte(name, '-')+1:]
	switch {
	case g.QOSClass == "" && last == "kubepods":
		g.QOSClass = Guaranteed
	case g.QOSClass == "":
	case g.PodUID != "":
		if isContainerID(last) && !strings.HasSuffix(strings.TrimSuffix(name, last), monitor) {
			g.ID = last
		}
	case last == "burstable":
		g.QOSClass = Burstable
	case last == "besteffort":
		g.QOSClass = BestEffort
	default:
		at := strings.LastIndex(name, "-pod") + 1 // of systemd's driver, which writes UIDs with _
		if uid, ok := strings.CutPrefix(name[at:], "pod"); ok {
			g.PodUID = strings.ReplaceAll(uid, "_", "-")
		}
	}
}

// monitor ends what is before the ID in the name of a group that CRI-O makes for the process that
// watches a container (monitor_cgroup = "pod").
const monitor = "-conmon-"

// isContainerID recognises the 64 hexadecimal digits that container runtimes make.
func isContainerID(name string) bool {
	return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}

// gone recognises a group that was removed while it was looked at.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) }

// SwapMax is the file of a group's limit.
const SwapMax = "memory.swap.max"

// NoLimit stands for a group without a limit on swap.
const NoLimit = ^uint64(0)

// SameLimit reports whether a limit that was read is the one that was set: the kernel rounds down
// to pages.
func SameLimit(read, set uint64) bool {
	return read == set || set != NoLimit && read == set-set%uint64(os.Getpagesize())
}

// Limit returns the limit on swap in bytes, or NoLimit; false where the group is gone.
func (g Group) Limit(m host.Root) (limit uint64, ok bool, err error) {
	text, err := m.Read(filepath.Join(g.Dir, SwapMax))
	if gone(err) {
		return 0, false, nil
	}
	if err == nil && text == "max" {
		return NoLimit, true, nil
	}
	if err == nil {
		limit, err = strconv.ParseUint(text, 10, 64)
	}
	if err != nil {
		return 0, false, fmt.Errorf("read the limit of %s: %w", g.Dir, err)
	}
	return limit, true, nil
}

// SetLimit sets the limit on swap; false where the group is gone.
func (g Group) SetLimit(m host.Root, limit uint64) (ok bool, err error) {
	text := "max"
	if limit != NoLimit {
		text = strconv.FormatUint(limit, 10)
	}
	if err = m.WriteControl(filepath.Join(g.Dir, SwapMax), text); gone(err) {
		return false, nil
	}
	return err == nil, err
}
