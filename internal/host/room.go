// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// GroupOf returns the directory of the group of the memory controller that a process is in,
// relative to the Root; Top for a group that the mount does not show.
func (h MemoryHierarchy) GroupOf(pid int) (dir string, err error) {
	groups, err := h.root.groups(strconv.Itoa(pid))
	if err != nil {
		return "", err
	}
	for _, g := range groups {
		if g.v2() == h.V2 && g.in(h.mount) && (h.V2 || hasWord(g.controllers, "memory")) {
			return filepath.Join(h.Top, belowMount(h.mount, g.path)), nil
		}
	}
	return h.Top, nil
}

// Room returns how many bytes the group at dir may yet take: what its limit, or that of a group
// above it, leaves without a margin of 1/32 for page tables and other charges. limits names the
// group with that limit. memory.high of cgroup v2 is a limit too. Memory that the kernel could drop
// counts as room. planned returns bytes that count as taken in a group in addition to its own; nil
// for none. Without a limit the room is NoMemoryLimit, and limits is empty.
func (h MemoryHierarchy) Room(dir string, planned func(dir string) uint64) (room uint64, limits string, err error) {
	room = NoMemoryLimit
	for ; h.Top != ""; dir = filepath.Dir(dir) {
		g, err := h.Group(dir)
		if err == nil && h.V2 {
			err = h.lowerToHigh(&g)
		}
		if err != nil && !removed(err) {
			return 0, "", err
		}
		if err == nil && g.Limit < NoMemoryLimit {
			taken := g.Resident + g.Limit/32
			if planned != nil {
				taken += planned(dir)
			}
			if left := g.Limit - min(taken, g.Limit); left < room {
				room, limits = left, dir
			}
		}
		if dir == h.Top || !strings.HasPrefix(dir, h.Top) {
			break
		}
	}
	return room, limits, nil
}

// lowerToHigh makes memory.high the limit of g where it is lower. Group reads what g has in memory
// only for a group with memory.max.
func (h MemoryHierarchy) lowerToHigh(g *MemoryGroup) error {
	_, high, limited, err := h.root.readLimit(filepath.Join(g.Dir, "memory.high"))
	if err != nil || !limited || high >= g.Limit {
		return err
	}
	stat, err := h.root.stat(filepath.Join(g.Dir, "memory.stat"))
	if err != nil {
		return err
	}
	g.Limit, g.Resident = high, stat["active_anon"]+stat["inactive_anon"]+stat["unevictable"]
	return nil
}

// ProcessesBelow returns the processes in the control group at dir, which is relative to the Root,
// and in all groups below it, until ctx ends. It leaves out groups that are removed since. The
// error is fs.ErrNotExist where dir is no control group.
func (r Root) ProcessesBelow(ctx context.Context, dir string) (pids []int, err error) {
	for todo := []string{dir}; len(todo) > 0; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		text, err := r.Read(filepath.Join(at, "cgroup.procs"))
		// A threaded group of cgroup v2 does not show its processes, which a group above it shows.
		if err != nil && !errors.Is(err, syscall.EOPNOTSUPP) && (at == dir || !removed(err)) {
			return nil, err
		}
		for field := range strings.FieldsSeq(text) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 { // 0 is of another PID namespace
				pids = append(pids, pid)
			}
		}
		entries, err := os.ReadDir(r.Path(at))
		if err != nil && !removed(err) {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() {
				todo = append(todo, filepath.Join(at, e.Name()))
			}
		}
	}
	return pids, nil
}
