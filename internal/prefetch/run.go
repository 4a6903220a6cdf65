// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/procpages"
)

const (
	// batchPages is the most pages of a call, which takes the kernel some milliseconds: 1024 is
	// also the most parts of a call (IOV_MAX).
	batchPages = 1024
	// step is how many bytes may come back between two looks at the bounds.
	step = 64 << 20

	// The machine keeps one part in marginShare of its memory available, and leastMargin at least.
	marginShare = 32
	leastMargin = 64 << 20
)

// A Report is the result of a run. Pages are of 4096 bytes.
type Report struct {
	Processes int     // with pages in swap
	Asked     uint64  // pages that the kernel was asked for
	Seconds   float64 // the time that it took
}

// Run asks for the pages of all processes but the calling one, until the bounds are reached or ctx
// ends, which is no error. serving are the names (/proc/PID/comm) of processes that serve swap: a
// call on their memory could wait for pages that only they bring, and holds a lock that they need.
func Run(ctx context.Context, serving ...string) (r Report, err error) {
	w := &work{machine: host.Local, process: newProcess()}
	defer func() { err = errors.Join(err, w.process.close()) }()
	if w.groups, err = w.machine.MemoryHierarchy(); err != nil {
		return r, fmt.Errorf("find the control groups: %w", err)
	}
	pids, err := procpages.Processes()
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := w.find(ctx, pids, serving); err != nil {
		return r, err
	}
	for _, t := range w.targets {
		if ctx.Err() != nil {
			break
		}
		more, err := w.fetch(ctx, t)
		if err != nil {
			return r, err
		}
		r.Asked += t.asked
		if !more {
			break
		}
	}
	r.Processes, r.Seconds = len(w.targets), time.Since(began).Seconds()
	return r, nil
}

// work is one run. It is used by one goroutine.
type work struct {
	machine host.Root
	groups  host.MemoryHierarchy
	process *process
	targets []*target
	batch   []procpages.Run
}

// find looks for the swapped pages of processes. It leaves out those that end, serve swap, or may
// not be looked at.
func (w *work) find(ctx context.Context, pids []int, serving []string) error {
	var finder procpages.SwapFinder
	for _, pid := range pids {
		p, alive := w.machine.Process(pid)
		if ctx.Err() != nil || !alive || pid == os.Getpid() || slices.Contains(serving, p.Name) {
			continue
		}
		if c, err := procpages.CountOf(pid); err != nil || c.Swapped == 0 {
			continue
		}
		runs, err := finder.Find(ctx, pid)
		switch {
		case errors.Is(err, procpages.ErrGone), errors.Is(err, fs.ErrPermission), ctx.Err() != nil:
			continue
		case err != nil:
			return err
		}
		group := ""
		if w.groups.Top != "" {
			if group, err = w.groups.GroupOf(pid); err != nil {
				continue // it has ended
			}
		}
		if t := newTarget(pid, group, runs); t.pages > 0 {
			w.targets = append(w.targets, t)
		}
	}
	largestFirst(w.targets)
	return nil
}

// fetch asks for the pages of one target; more is false where the machine has no memory for others.
func (w *work) fetch(ctx context.Context, t *target) (more bool, err error) {
	if err := w.process.open(t.pid); err != nil {
		return without(err)
	}
	for budget := uint64(0); t.left() > 0 && ctx.Err() == nil; {
		if budget < procpages.PageSize {
			machine, group, err := w.room(t.group)
			if err != nil {
				return false, err
			}
			if budget = min(machine, group, step); budget < procpages.PageSize {
				return machine >= procpages.PageSize, nil
			}
		}
		before := *t
		w.batch = t.take(w.batch[:0], min(budget/procpages.PageSize, batchPages))
		if err := w.process.ask(w.batch); err != nil {
			*t = before
			return without(err)
		}
		budget -= (t.asked - before.asked) * procpages.PageSize
	}
	return true, nil
}

// without turns the end of a process, and a refusal, into going on without it.
func without(err error) (more bool, _ error) {
	if errors.Is(err, procpages.ErrGone) || errors.Is(err, fs.ErrPermission) {
		return true, nil
	}
	return false, err
}

// room returns how many bytes may come back now, as far as the machine and the group at dir go.
func (w *work) room(dir string) (machine, group uint64, err error) {
	total, err := w.machine.MemTotal()
	if err != nil {
		return 0, 0, err
	}
	available, err := w.machine.MemAvailable()
	if err != nil {
		return 0, 0, err
	}
	machine = available - min(max(total/marginShare, leastMargin), available)
	if w.groups.Top == "" {
		return machine, machine, nil
	}
	group, _, err = w.groups.Room(dir, nil)
	return machine, group, err
}
