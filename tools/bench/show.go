// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/term"
)

// runShow shows a newcomer what swap on zramfs does: a program that needs three times the memory
// that its control group may have, first without swap, then with it. It takes about ten seconds.
func runShow(ctx context.Context, opts options, pool *pool, out io.Writer) (err error) {
	// The kernel ends a load when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := errors.Join(refuseOtherSwap(), checkMemory(opts)); err != nil {
		return err
	}
	shared, err := pool.share()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shared.Close()) }()
	debug.FreeOSMemory()
	b := &swapBenchmark{opts: opts, subjects: subjects(opts), shared: shared, progress: io.Discard, what: map[string]string{}}
	needs := uint64(b.opts.filled()) * codec.PageSize
	say := func(format string, args ...any) { // the figures count, and the exit code tells of errors
		_, _ = fmt.Fprintf(out, format, args...)
	}
	say("A program with %s of memory, in a control group that may have %s.\n\nwithout swap   ", term.Size(needs), term.Size(uint64(opts.limit)))
	without, err := b.withoutSwap(ctx)
	if err != nil {
		return err
	}
	say("%s\nwith zramfs    ", without)
	figure, err := b.window(ctx, b.subjects[0], opts.clusters[0], 0)
	if err != nil {
		return err
	}
	say("%s", shownFigure(figure, needs, uint64(opts.limit)))
	say("\nSwap is off again and nothing is left. To keep it: zramfs up\n")
	return nil
}

// withoutSwap runs the fill of the load in its group without any swap, and returns what came of it
// in words: the kernel kills the program.
func (b *swapBenchmark) withoutSwap(ctx context.Context) (words string, err error) {
	var made cleanup
	defer func() { err = errors.Join(err, made.undo()) }()
	group, err := makeGroup("zramfs-bench-"+strconv.Itoa(os.Getpid()), b.opts.limit, &made)
	if err != nil {
		return "", err
	}
	load, err := startLoad(ctx, group, b.shared, loadOrder{b.opts.workload, b.opts.filled(), b.opts.touches, 0, b.opts.loadCPU})
	if err != nil {
		return "", err
	}
	made.add(load.end)
	_, err = load.do(orderFill)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return "it finished: the group's limit is not in force", nil
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return "the kernel killed it: out of memory", nil
	}
	return "", err
}

// shownFigure is what a run with swap found, in words.
func shownFigure(f swapFigure, needs, limit uint64) string {
	swapped := needs - limit
	taken := uint64(f.TakenTouch * (1 << 20))
	text := fmt.Sprintf("it finished: %s in memory, %s in swap\n", term.Size(limit), term.Size(swapped))
	row := func(name, format string, args ...any) {
		text += fmt.Sprintf("  %-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("memory", "%s hold what is in swap, all processes of zramfs included", term.Size(taken))
	if taken < swapped {
		row("saved", "%s", term.Size(swapped-taken))
	}
	row("speed", "%.0f MB/s while it fills its memory, %.0f MB/s while it reads it in order", f.Fill, f.Walk)
	row("page fault", "%.0f us is the median, 99 of 100 take less than %.0f us", f.MissP50, f.MissP99)
	return text
}
