// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/zramfs/zramfs/codec"
)

// A swapBenchmark measures swap on every subject. It belongs to one goroutine.
type swapBenchmark struct {
	opts     options
	subjects []subject
	shared   *os.File // the pool, for the loads
	progress io.Writer

	what map[string]string // what each subject is, once it has run
	// figures holds, by subject and by value of vm.page-cluster, one figure a round.
	figures [][][]swapFigure
	// wakeUps holds what a wake-up cost at the start of each round.
	wakeUps wakeUps
}

// filled returns how many pages a load fills.
func (o options) filled() int { return int(o.limit * int64(o.times) / codec.PageSize) }

// runSwap measures swap and reports it.
func runSwap(ctx context.Context, opts options, pool *pool, out, progress io.Writer) (err error) {
	// The kernel ends a load when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := errors.Join(refuseOtherSwap(), checkMemory(opts)); err != nil {
		return err
	}
	// The loads make the same touches again.
	touches, err := touchesOf(opts.workload, opts.filled(), opts.touches, 0)
	if err != nil {
		return err
	}
	opts.touches = len(touches)
	summary := reportPages{File: pool.path, Count: pool.pages(), LZ4: pool.lz4}
	shared, err := pool.share()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shared.Close()) }()
	debug.FreeOSMemory()
	bench := &swapBenchmark{opts: opts, subjects: subjects(opts), shared: shared, progress: progress, what: map[string]string{}}
	if err := bench.run(ctx); err != nil {
		return err
	}
	report := bench.report(summary)
	if opts.json {
		return writeJSON(out, report)
	}
	return report.writeText(out)
}

// run measures every subject with every value of vm.page-cluster in every round, in the opposite
// order every other round, so that none always follows the same one.
func (b *swapBenchmark) run(ctx context.Context) error {
	b.figures = make([][][]swapFigure, len(b.subjects))
	for i := range b.figures {
		b.figures[i] = make([][]swapFigure, len(b.opts.clusters))
	}
	for round := range b.opts.rounds {
		if err := b.wakeUps.measure(); err != nil {
			return err
		}
		for _, c := range turns(len(b.opts.clusters), round) {
			for _, i := range turns(len(b.subjects), round) {
				one, cluster := b.subjects[i], b.opts.clusters[c]
				fmt.Fprintf(b.progress, "round %d of %d: swap on %s, vm.page-cluster %d\n", round+1, b.opts.rounds, one.name, cluster)
				figure, err := b.window(ctx, one, cluster, round)
				if err := errors.Join(err, ctx.Err()); err != nil {
					return err
				}
				b.figures[i][c] = append(b.figures[i][c], figure)
			}
		}
	}
	return nil
}

// spareMemory is the memory that must be free in addition to a run's own.
const spareMemory = 256 << 20

var errLittleMemory = errors.New("too little memory is available")

// checkMemory refuses a run that could bring the machine itself into need: not even
// if nothing can be compressed may it run out of memory.
func checkMemory(opts options) error {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return fmt.Errorf("read available memory: %w", err)
	}
	available, err := parseKibibytes(string(text), "MemAvailable")
	if err != nil {
		return fmt.Errorf("read available memory: %w", err)
	}
	if need := uint64(opts.limit*int64(opts.times+1) + spareMemory); available < need {
		return fmt.Errorf("%w: %d MiB of %d MiB; give a smaller -limit", errLittleMemory, available>>20, need>>20)
	}
	return nil
}
