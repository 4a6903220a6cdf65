// SPDX-License-Identifier: Apache-2.0

// Package groupstat keeps the kernel's statistics of memory groups fresh while pages are swapped.
//
// Reclaim in a group decides by these statistics whether to take pages from the list of active ones
// (inactive_is_low in the kernel's mm/vmscan.c), and the kernel brings them up to date every two
// seconds only (mem_cgroup_flush_stats_ratelimited in mm/memcontrol.c). A swap device that is fast
// enough empties a group's list of inactive pages within that time. Reclaim then finds nothing
// sixteen times in less than a millisecond, and the OOM killer ends a process although swap has
// room and nearly all of the group could be swapped out. Kernel zram is exposed to this more than a
// device in user space, because it is faster.
//
// Reading a group's memory.stat brings its statistics up to date. That of the topmost group does
// not do for all: the kernel leaves it out while the top has counted few changes, and changes in a
// group that has counted many no longer reach the top. So each group near its limit is read.
package groupstat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

const (
	// lookPause is the time between two looks at what is swapped, and at which groups are near
	// their limits.
	lookPause = 250 * time.Millisecond
	// fewPages is the number of pages swapped within lookPause up to which no list is emptied.
	fewPages = 256
	// findPause is the time between two searches for groups with a limit, while pages are swapped.
	findPause = 5 * time.Second
	// mostGroups bounds the files that are open.
	mostGroups = 256
	// readPause is the least time between two reads of a group's statistics. The list of a group of
	// 64 MiB lasts ten times as long on kernel zram.
	readPause = 20 * time.Millisecond
	// readShare is the time between two reads in units of what they took last: with many groups the
	// reads take a twentieth of a processor at the most, while pages are swapped.
	readShare = 20
)

// A group has a limit.
type group struct {
	limit       uint64
	usage, stat *os.File
}

func (g group) close() { _, _ = g.usage.Close(), g.stat.Close() } // they were only read

// A follower is used by one goroutine.
type follower struct {
	root      host.Root
	hierarchy host.MemoryHierarchy
	vmstat    *os.File
	groups    []group
	found     time.Time // when the groups were
	text      [32 << 10]byte
}

// Follow keeps the statistics fresh until ended is closed. A machine without memory groups has
// nothing to follow; an error means that nothing is followed.
func Follow(root host.Root, ended <-chan struct{}) error {
	f := &follower{root: root}
	var err error
	if f.hierarchy, err = root.MemoryHierarchy(); err != nil {
		return fmt.Errorf("find the memory groups: %w", err)
	}
	if f.hierarchy.Top == "" {
		return nil
	}
	if f.vmstat, err = os.Open(root.Path("proc", "vmstat")); err != nil {
		return err
	}
	defer func() {
		f.forget()
		err = errors.Join(err, f.vmstat.Close())
	}()
	before, err := f.swapped()
	for err == nil && !wait(lookPause, ended) {
		var now uint64
		if now, err = f.swapped(); err == nil && now-before > fewPages {
			err = f.keep(ended)
		}
		before = now
	}
	return err
}

// wait reports whether ended was closed within that time.
func wait(d time.Duration, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-time.After(d):
		return false
	}
}

// swapped returns how many pages the machine has swapped in and out so far.
func (f *follower) swapped() (pages uint64, err error) {
	n, err := f.vmstat.ReadAt(f.text[:], 0)
	if n == 0 {
		return 0, err
	}
	for _, name := range []string{"\npswpin ", "\npswpout "} {
		_, rest, _ := bytes.Cut(f.text[:n], []byte(name))
		number, _, _ := bytes.Cut(rest, []byte("\n"))
		count, err := strconv.ParseUint(string(number), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read %s: %s: %w", f.vmstat.Name(), name[1:], err)
		}
		pages += count
	}
	return pages, nil
}

// keep reads the statistics of groups near their limits until the next look.
func (f *follower) keep(ended <-chan struct{}) error {
	if time.Since(f.found) > findPause {
		if err := f.find(); err != nil {
			return err
		}
	}
	var near []group
	for _, g := range f.groups {
		if f.near(g) {
			near = append(near, g)
		}
	}
	for end := time.Now().Add(lookPause); len(near) > 0 && time.Now().Before(end); {
		began := time.Now()
		for _, g := range near {
			_, _ = g.stat.ReadAt(f.text[:1], 0) // a group may have gone
		}
		if wait(max(readPause, readShare*time.Since(began)), ended) {
			break
		}
	}
	return nil
}

// near reports whether a group keeps more than 7/8 of its limit in memory.
func (f *follower) near(g group) bool {
	n, _ := g.usage.ReadAt(f.text[:], 0) // a group may have gone
	usage, err := strconv.ParseUint(string(bytes.TrimSpace(f.text[:n])), 10, 64)
	return err == nil && usage > g.limit-g.limit/8
}

// find opens the files of the groups with a limit.
func (f *follower) find() error {
	f.forget()
	f.found = time.Now()
	usage := "memory.usage_in_bytes"
	if f.hierarchy.V2 {
		usage = "memory.current"
	}
	return f.hierarchy.Walk(context.Background(), func(m host.MemoryGroup) {
		if m.Limit >= host.NoMemoryLimit || len(f.groups) == mostGroups {
			return
		}
		g := group{limit: m.Limit}
		var err error
		if g.usage, err = os.Open(f.root.Path(filepath.Join(m.Dir, usage))); err != nil {
			return
		}
		if g.stat, err = os.Open(f.root.Path(filepath.Join(m.Dir, "memory.stat"))); err != nil {
			_ = g.usage.Close() // it was only read
			return
		}
		f.groups = append(f.groups, g)
	})
}

func (f *follower) forget() {
	for _, g := range f.groups {
		g.close()
	}
	f.groups = nil
}
