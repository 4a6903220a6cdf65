// SPDX-License-Identifier: Apache-2.0

package ballast

// This file keeps the kernel's statistics of memory cgroups fresh while pages are swapped.
//
// Reclaim in a cgroup decides by these statistics whether to take pages from the list of active
// ones (inactive_is_low in the kernel's mm/vmscan.c), and the kernel brings them up to date every
// two seconds only (mem_cgroup_flush_stats_ratelimited in mm/memcontrol.c). A swap device that is
// fast enough empties a cgroup's list of inactive pages within that time. Reclaim then finds
// nothing sixteen times in less than a millisecond, and the OOM killer ends a process although swap
// has room and nearly all of the cgroup could be swapped out. Kernel zram is exposed to this more
// than a device in user space, because it is faster.
//
// Reading a cgroup's memory.stat brings its statistics up to date. That of the topmost cgroup does
// not do for all: the kernel leaves it out while the top has counted few changes, and changes in a
// cgroup that has counted many no longer reach the top. So each cgroup near its limit is read.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/zramfs/zramfs/internal/host"
)

const (
	// lookPause is the time between two looks at what is swapped, and at which groups are near
	// their limits.
	lookPause = 250 * time.Millisecond
	// fewPages is the number of pages swapped within lookPause up to which no list is emptied.
	fewPages = 64
	// readOn is how long statistics are read after the last look that found pages being swapped: a
	// program may pause for a moment, and the kernel itself brings them up to date as often.
	readOn = 2 * time.Second
	// findPause is the time between two searches for groups with a limit, while pages are swapped.
	findPause = 5 * time.Second
	// mostGroups bounds the files that are open.
	mostGroups = 256
	// readPause is the time between two reads of the statistics of a group of 64 MiB or more, whose
	// list lasts ten times as long on kernel zram. That of a smaller group is emptied sooner.
	readPause = 20 * time.Millisecond
	readGroup = 64 << 20
	// leastPause is the time between two reads for the smallest groups.
	leastPause = 2 * time.Millisecond
	// readShare is the time between two reads in units of the processor time that they took last:
	// with many groups the reads take a twentieth of a processor at the most. Their waits for a
	// processor do not count: on a busy machine the reads are as urgent.
	readShare = 20
)

// A group has a limit.
type cgroup struct {
	limit       uint64
	usage, stat *os.File
}

func (g cgroup) close() { _, _ = g.usage.Close(), g.stat.Close() } // they were only read

// A follower is used by one goroutine.
type follower struct {
	root      host.Root
	hierarchy host.MemoryHierarchy
	vmstat    *os.File
	groups    []cgroup
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
	runtime.LockOSThread() // for processorTime
	defer runtime.UnlockOSThread()
	before, err := f.swapped()
	var near []cgroup
	var busy time.Time
	for err == nil && !refresh(near, ended) {
		var now uint64
		if now, err = f.swapped(); err != nil {
			break
		}
		if now-before > fewPages {
			busy = time.Now()
		}
		near, err = f.nearLimits(time.Since(busy) < readOn)
		before = now
	}
	return err
}

// refresh reads the statistics of groups for lookPause, or waits as long where there are none. It
// reports whether ended was closed.
func refresh(near []cgroup, ended <-chan struct{}) bool {
	end := time.Now().Add(lookPause)
	pause := pauseFor(near)
	for len(near) > 0 && time.Now().Before(end) {
		began := processorTime()
		for _, g := range near {
			// A group that has gone has no statistics to bring up to date.
			var first [1]byte
			_, _ = g.stat.ReadAt(first[:], 0)
		}
		if wait(max(pause, readShare*(processorTime()-began)), ended) {
			return true
		}
	}
	return wait(time.Until(end), ended)
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

// pauseFor returns the time between two reads of groups: the smallest has the say.
func pauseFor(near []cgroup) time.Duration {
	pause := readPause
	for _, g := range near {
		pause = min(pause, max(leastPause, readPause*time.Duration(min(g.limit, readGroup))/readGroup))
	}
	return pause
}

// nearLimits returns the groups near their limits, as long as pages are swapped.
func (f *follower) nearLimits(swapping bool) (near []cgroup, err error) {
	if !swapping {
		return nil, nil
	}
	if time.Since(f.found) > findPause {
		if err := f.find(); err != nil {
			return nil, err
		}
	}
	for _, g := range f.groups {
		if f.near(g) {
			near = append(near, g)
		}
	}
	return near, nil
}

// near reports whether a group keeps more than 7/8 of its limit in memory.
func (f *follower) near(g cgroup) bool {
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
		g := cgroup{limit: m.Limit}
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
