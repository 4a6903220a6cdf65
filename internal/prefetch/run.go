// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/procpages"
	"github.com/zramfs/zramfs/internal/term"
)

// batchPages is the most pages of a call, which takes the kernel some milliseconds: 1024 is also
// the most parts of a call (IOV_MAX).
const batchPages = 1024

// recountTime bounds the recount of an interrupted prefetch; a gigabyte takes some milliseconds.
const recountTime = 200 * time.Millisecond

// Options says what to bring back.
type Options struct {
	PIDs  []int
	Named bool // a process that cannot be prefetched is an error, and is not skipped
	// Serving are the names (/proc/PID/comm) of processes that serve swap: a call on their memory
	// could wait for pages that only they bring, and holds a lock that they need.
	Serving []string
	Limit   uint64 // bytes at most; 0 for no limit
	DryRun  bool   // only say what would be done
	// Ahead leaves the pages in the swap cache, for the kernel to take from there, and does not
	// look at PSI: for swapoff, which brings them back whatever they cost.
	Ahead    bool
	Progress func(pages int64) term.Steps `json:"-"` // of that many; nil for none
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
	err = w.bring(ctx)
	if scope := procpages.PtraceScope(); scope != "" && counted(w.report.Skipped, Refused)+counted(w.report.Left, Refused) > 0 {
		w.report.Notes = append(w.report.Notes, "kernel.yama.ptrace_scope is "+scope)
	}
	return w.report, err
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
	if w.report.Found == 0 && counted(w.report.Skipped, Refused) > 0 {
		return procpages.Explain(ErrPermission)
	}
	largestFirst(w.targets)
	return nil
}

// look looks for the swapped pages of a process. Where it has none to look at, that is an error for
// a named process, and else a reason to skip it.
func (w *work) look(ctx context.Context, pid int) (runs []procpages.Run, skip Reason, err error) {
	p, alive := w.bounds.machine.Process(pid)
	_, exeErr := os.Readlink(w.bounds.machine.Path("proc", strconv.Itoa(pid), "exe"))
	switch {
	case !alive:
		skip, err = Ended, fmt.Errorf("there is no process %d", pid)
	case slices.Contains(w.Serving, p.Name):
		skip, err = Serving, fmt.Errorf("process %d (%s) serves swap: reading its memory back could wait for itself", pid, p.Name)
	case errors.Is(exeErr, fs.ErrNotExist):
		skip, err = Kernel, fmt.Errorf("process %d is one of the kernel's own, which have no memory in swap", pid)
	default:
		runs, err = w.finder.Find(ctx, pid)
		switch {
		case errors.Is(err, procpages.ErrGone):
			skip = Ended
		case errors.Is(err, fs.ErrPermission):
			skip, err = Refused, fmt.Errorf("process %d: %w", pid, procpages.Explain(ErrPermission))
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
		if stop == Group || stop == Ended || stop == Refused { // others may come back
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
	return w.recount(ctx)
}

// fetch asks for the pages of one target, and looks at those of a batch once the next is asked for.
// It returns why pages are left.
func (w *work) fetch(ctx context.Context, t *target) (stop Reason, err error) {
	if err := w.process.open(t.pid); err != nil {
		return w.without(t, err)
	}
	w.budget = 0
	var asked []procpages.Run
	for turn := 0; t.left() > 0 && stop == "" && err == nil; turn ^= 1 {
		if stop, err = w.allow(ctx, t); stop != "" || err != nil {
			break
		}
		before := *t
		batch := t.take(w.batches[turn][:0], min(w.budget/procpages.PageSize, batchPages))
		w.batches[turn] = batch
		w.budget -= pagesOf(batch) * procpages.PageSize
		if w.DryRun {
			continue
		}
		if err = w.process.ask(batch); err != nil {
			*t = before
			break
		}
		err = w.finish(asked)
		asked = batch
	}
	if err == nil && !w.DryRun {
		err = w.finish(asked)
	}
	if err != nil {
		return w.without(t, err)
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

// without turns the end of a process into a reason to go on without it, and a refusal too unless
// the process was named.
func (w *work) without(t *target, err error) (Reason, error) {
	switch {
	case errors.Is(err, procpages.ErrGone):
		return Ended, nil
	case errors.Is(err, fs.ErrPermission) && !w.Named:
		t.refused = true
		return Refused, nil
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
	var planned func(dir string) uint64
	if w.DryRun { // what a real run would have brought back by now
		planned = w.askedBelow
	}
	room, due, err := w.bounds.room(t.group, planned)
	if err != nil {
		return "", err
	}
	if asked := w.askedBelow(""); w.Limit > 0 && w.Limit-min(asked, w.Limit) < room {
		room, due = w.Limit-min(asked, w.Limit), Limit
	}
	if room < procpages.PageSize {
		return due, nil
	}
	w.budget = min(room, step)
	return "", nil
}

// askedBelow returns how many bytes were asked for of the processes in the group at dir and below
// it; of all for "".
func (w *work) askedBelow(dir string) (bytes uint64) {
	for _, t := range w.targets {
		if dir == "" || t.group == dir || strings.HasPrefix(t.group, dir+"/") {
			bytes += t.asked * procpages.PageSize
		}
	}
	return bytes
}

// recount counts the pages that are in swap still or again. Once ctx has ended it takes recountTime
// at most, and leaves pages uncounted.
func (w *work) recount(ctx context.Context) error {
	counting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-time.After(recountTime):
			end()
		case <-counting.Done():
		}
	})()
	w.report.Back = w.report.Asked
	for _, t := range w.targets {
		still, err := w.finder.Count(counting, t.pid, t.taken())
		reason := NotRead
		switch {
		case errors.Is(err, procpages.ErrGone):
			still, reason = int64(t.asked), Ended
		case errors.Is(err, fs.ErrPermission):
			still, reason = int64(t.asked), Refused
		case err != nil && counting.Err() != nil:
			still, reason = int64(t.asked), Uncounted
		case err != nil:
			return err
		case t.refused:
			reason = Refused
		}
		w.report.Back -= uint64(still)
		w.report.Left = count(w.report.Left, reason, uint64(still))
	}
	if w.report.Seconds > 0 {
		w.report.MBPerSecond = float64(w.report.Back) * procpages.PageSize / 1e6 / w.report.Seconds
	}
	return nil
}
