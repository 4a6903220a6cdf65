// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/procpages"
)

// batchPages is the most pages of a call, which takes the kernel some milliseconds: 1024 is also
// the most parts of a call (IOV_MAX).
const batchPages = 1024

// Options says what to bring back.
type Options struct {
	PIDs   []int
	Named  bool   // a process that cannot be prefetched is an error, and is not skipped
	Limit  uint64 // bytes at most; 0 for no limit
	DryRun bool   // only say what would be done
	// Ahead leaves the pages in the swap cache, for the kernel to take from there, and does not
	// look at PSI: for swapoff, which brings them back whatever they cost.
	Ahead    bool
	Progress func(pages int64) term.Steps // of that many; nil for none
}

// Run brings pages back until all are, the bounds are reached or ctx ends; an end of ctx is no
// error but a reason in the report.
func Run(ctx context.Context, o Options) (_ Report, err error) {
	w := &work{Options: o, process: newProcess(), bounds: bounds{machine: host.Local},
		report: Report{Left: []Count{}, Skipped: []Count{}, Notes: []string{}, DryRun: o.DryRun}}
	defer func() { err = errors.Join(err, w.process.close()) }()
	if w.bounds.groups, err = w.bounds.machine.MemoryHierarchy(); err != nil {
		return w.report, fmt.Errorf("find the control groups: %w", err)
	}
	if err := w.find(ctx); err != nil {
		return w.report, err
	}
	if _, known := w.bounds.machine.Pressure(); !known && !o.Ahead {
		w.report.Notes = append(w.report.Notes, "the kernel does not tell how much programs wait for memory (/proc/pressure/memory): available memory alone bounds the work")
	}
	return w.report, w.bring(ctx)
}

// work is one prefetch. It is used by one goroutine.
type work struct {
	Options
	report  Report
	bounds  bounds
	process *process
	finder  procpages.SwapFinder
	targets []*target
	steps   term.Steps

	budget  uint64 // bytes until the next look at the bounds
	batches [2][]procpages.Run
}

// find looks for the swapped pages of all processes.
func (w *work) find(ctx context.Context) error {
	for _, pid := range w.PIDs {
		if ctx.Err() != nil {
			return nil
		}
		runs, skip, err := w.look(ctx, pid)
		if err != nil {
			return err
		}
		if skip != "" {
			w.report.Skipped = count(w.report.Skipped, skip, 1)
			continue
		}
		group := ""
		if w.bounds.groups.Top != "" && len(runs) > 0 {
			if group, err = w.bounds.groups.GroupOf(pid); err != nil {
				w.report.Skipped = count(w.report.Skipped, Ended, 1)
				continue
			}
		}
		if t := newTarget(pid, group, runs); t.pages > 0 {
			w.targets = append(w.targets, t)
			w.report.Found += t.pages
		}
	}
	w.report.Processes = len(w.targets)
	if refused := (Count{Refused, uint64(len(w.PIDs))}); len(w.report.Skipped) == 1 && w.report.Skipped[0] == refused {
		return ErrPermission
	}
	largestFirst(w.targets)
	return nil
}

// look looks for the swapped pages of a process. Where it has none to look at, that is an error for
// a named process, and else a reason to skip it.
func (w *work) look(ctx context.Context, pid int) (runs []procpages.Run, skip Reason, err error) {
	_, alive := w.bounds.machine.Process(pid)
	_, exeErr := os.Readlink(w.bounds.machine.Path("proc", strconv.Itoa(pid), "exe"))
	switch {
	case !alive:
		skip, err = Ended, fmt.Errorf("there is no process %d", pid)
	case errors.Is(exeErr, fs.ErrNotExist):
		skip, err = Kernel, fmt.Errorf("process %d is one of the kernel's own, which have no memory in swap", pid)
	default:
		runs, err = w.finder.Find(ctx, pid)
		switch {
		case errors.Is(err, procpages.ErrGone):
			skip = Ended
		case errors.Is(err, fs.ErrPermission):
			skip, err = Refused, fmt.Errorf("process %d: %w", pid, ErrPermission)
		case err != nil && ctx.Err() != nil:
			return nil, "", nil
		case err != nil:
			return nil, "", err
		}
	}
	if !w.Named {
		err = nil
	}
	return runs, skip, err
}

// bring asks for the pages of all targets, and recounts.
func (w *work) bring(ctx context.Context) error {
	began := time.Now()
	if w.Progress != nil && !w.DryRun {
		w.steps = w.Progress(int64(w.report.Found))
	}
	var stop Reason
	var err error
	for i, t := range w.targets {
		if stop == "" {
			stop, err = w.fetch(ctx, t)
		}
		if stop != "" || err != nil {
			w.report.Left = count(w.report.Left, stop, t.left())
		}
		if stop == Group || stop == Ended { // others may have room
			stop = ""
		}
		if err != nil {
			w.targets = w.targets[:i+1]
			break
		}
	}
	w.report.Seconds = time.Since(began).Seconds()
	if w.steps != nil {
		err = errors.Join(err, w.steps.End())
	}
	for _, t := range w.targets {
		w.report.Asked += t.asked
	}
	if err != nil || w.DryRun || w.Ahead {
		return err
	}
	return w.recount()
}

// fetch asks for the pages of one target, and looks at those of a batch once the next is asked for.
// It returns why pages are left.
func (w *work) fetch(ctx context.Context, t *target) (stop Reason, err error) {
	if err := w.process.open(t.pid); err != nil {
		return w.gone(err)
	}
	w.budget = 0
	var asked []procpages.Run
	for turn := 0; t.left() > 0 && stop == "" && err == nil; turn ^= 1 {
		if stop, err = w.allow(ctx, t); stop != "" || err != nil {
			break
		}
		batch := t.take(w.batches[turn][:0], min(w.budget/procpages.PageSize, batchPages))
		w.batches[turn] = batch
		w.budget -= pagesOf(batch) * procpages.PageSize
		if w.DryRun {
			continue
		}
		if err = w.process.ask(batch); err == nil {
			err = w.finish(asked)
		}
		asked = batch
	}
	if err == nil && !w.DryRun {
		err = w.finish(asked)
	}
	if err != nil {
		return w.gone(err)
	}
	return stop, nil
}

// finish looks at the pages of a batch that was asked for, unless they are to stay in the cache.
func (w *work) finish(batch []procpages.Run) error {
	if len(batch) == 0 {
		return nil
	}
	if !w.Ahead {
		if err := w.process.look(batch); err != nil {
			return err
		}
	}
	if w.steps == nil {
		return nil
	}
	return w.steps.Add(pagesOf(batch))
}

func pagesOf(runs []procpages.Run) (n uint64) {
	for _, r := range runs {
		n += uint64(r.Pages)
	}
	return n
}

// gone turns the end of a process into a reason.
func (w *work) gone(err error) (Reason, error) {
	if errors.Is(err, procpages.ErrGone) {
		return Ended, nil
	}
	return "", err
}

// allow renews the budget for a target where it is used up, and returns why it cannot.
func (w *work) allow(ctx context.Context, t *target) (stop Reason, err error) {
	if ctx.Err() != nil {
		return Interrupted, nil
	}
	if w.budget >= procpages.PageSize {
		return "", nil
	}
	if !w.Ahead && !w.DryRun && !w.bounds.calm(ctx) {
		if ctx.Err() != nil {
			return Interrupted, nil
		}
		return Pressure, nil
	}
	room, due, err := w.bounds.room(t.group)
	if err != nil {
		return "", err
	}
	asked := t.asked
	for _, other := range w.targets {
		if other != t {
			asked += other.asked
		}
	}
	asked *= procpages.PageSize
	if w.DryRun { // what a real run would have brought back by now
		room -= min(asked, room)
	}
	if w.Limit > 0 && w.Limit-min(asked, w.Limit) < room {
		room, due = w.Limit-min(asked, w.Limit), Limit
	}
	if room < procpages.PageSize {
		return due, nil
	}
	w.budget = min(room, step)
	return "", nil
}

// recount counts the pages that are in swap still or again.
func (w *work) recount() error {
	w.report.Back = w.report.Asked
	for _, t := range w.targets {
		still, err := w.finder.Count(context.Background(), t.pid, t.taken())
		reason := NotRead
		if errors.Is(err, procpages.ErrGone) {
			still, reason, err = int64(t.asked), Ended, nil
		}
		if err != nil {
			return err
		}
		w.report.Back -= uint64(still)
		w.report.Left = count(w.report.Left, reason, uint64(still))
	}
	if w.report.Seconds > 0 {
		w.report.MBPerSecond = float64(w.report.Back) * procpages.PageSize / 1e6 / w.report.Seconds
	}
	return nil
}
