// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/imaging"
	"github.com/zramfs/zramfs/cmd/zramfs/sample"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
)

// maxBenchBatch is how many pages a batch of bench bulk may have: 16 GiB of them, for which it
// takes three times as much memory.
const maxBenchBatch = 1 << 22

// benchBulkAction measures bulk work.
func benchBulkAction(c *cli.Context, from sample.Source, length time.Duration) error {
	batch := c.Int(flagBatch)
	if c.IsSet(flagBatch) && batch < 1 || batch > maxBenchBatch {
		return usageError("bench: --%s %d: it is from 1 to %d", flagBatch, batch, maxBenchBatch)
	}
	o, err := engineOptionsOf(c, imaging.AnyTask)
	if err != nil {
		return err
	}
	algorithms, err := bulkBenched(c.String(flagAlgorithm))
	if err != nil {
		return err
	}
	sample, err := from.Take(c.Context, c.App.ErrWriter)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	r, err := newBulkRun(sample, algorithms, batch, o)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	var report bulkReport
	if err = r.measure(c.Context, length, term.NewSteps(c.App.ErrWriter, "measuring", length.Milliseconds())); err == nil {
		report = r.report(sample)
	}
	if err := errors.Join(err, r.close()); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return printReport(c.App.Writer, c.Bool(flagJSON), report)
}

// bulkBenched returns what to measure: the algorithms that a list names, else those that are
// offered for a device. A plain copy comes first.
func bulkBenched(list string) ([]codec.Algorithm, error) {
	if list == "" {
		list = strings.Join(codec.Algorithms(), ",")
	}
	named, err := parseAlgorithms(list)
	if err != nil {
		return nil, err
	}
	raw, err := codec.Parse(rawName)
	if err != nil {
		return nil, err
	}
	algorithms := []codec.Algorithm{raw}
	for _, a := range named {
		if !slices.Contains(algorithms, a) {
			algorithms = append(algorithms, a)
		}
	}
	return algorithms, nil
}

// A bulkRun measures bulk work. It is used by one goroutine.
type bulkRun struct {
	pages    []byte // of a batch
	own      int    // pages that there were: the rest are those again
	same     int    // same-filled pages that were left out
	wanted   int    // pages that a batch was to have
	made     *bulk.Batch
	back     *bulk.Batch // what is made of made, with pages of its own
	buffers  benchBuffers
	engines  *benchEngines
	subjects []*subject
	start    time.Time
	length   time.Duration
	shown    time.Duration
	show     term.Steps
	done     int // rounds
}

// newBulkRun makes a run with batches of so many pages; for 0 as many as are right for who is
// there.
func newBulkRun(s sample.Sample, algorithms []codec.Algorithm, batch int, o imaging.Options) (_ *bulkRun, err error) {
	pages, same := sample.WithoutSameFilled(s.Pages)
	if len(pages) == 0 {
		return nil, errors.New("every page is one repeated word: there is nothing to compress")
	}
	r := &bulkRun{same: same, wanted: batch}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.engines, err = openBenchEngines(algorithms, o); err != nil {
		return nil, err
	}
	others := len(r.engines.all()) > 0
	if r.wanted == 0 {
		r.wanted = benchPages
		if others {
			r.wanted = largeBatch
		}
	}
	if batch, err = fitting(host.Local, r.wanted); err != nil {
		return nil, err
	}
	if err := r.allocate(batch, others); err != nil {
		return nil, err
	}
	r.fill(pages)
	for _, a := range algorithms {
		t, err := r.newSubject(a)
		if err != nil {
			return nil, err
		}
		r.subjects = append(r.subjects, t)
	}
	return r, nil
}

// fill makes a batch of pages, which are repeated.
func (r *bulkRun) fill(pages [][]byte) {
	r.own = min(len(pages), r.made.N)
	inParts(r.made.N, func(from, to int) {
		for i := from; i < to; i++ {
			copy(r.pages[i*pageSize:(i+1)*pageSize], pages[i%len(pages)])
		}
	})
}

// allocate makes the memory of batches. Where there are engines they are told of it.
func (r *bulkRun) allocate(batch int, others bool) (err error) {
	r.made, r.back = bulk.NewBatch(bulk.Decompress, batch), bulk.NewBatch(bulk.Decompress, batch)
	r.made.Op = bulk.Compress
	for _, b := range []*[]byte{&r.pages, &r.made.Arena, &r.back.Pages} {
		if *b, err = r.buffers.alloc(batch*pageSize, others); err != nil {
			return err
		}
	}
	r.made.Pages = r.pages
	r.engines.register([][]byte{r.pages, r.made.Arena}, [][]byte{r.back.Pages})
	return nil
}

// close ends what newBulkRun has begun.
func (r *bulkRun) close() error {
	var errs []error
	for _, t := range r.subjects {
		errs = append(errs, t.one.Close(), t.all.Close())
	}
	r.subjects = nil
	if r.engines != nil {
		errs = append(errs, r.engines.close())
	}
	return errors.Join(append(errs, r.buffers.close())...)
}

// measure does a first round, which checks the results and brings all memory in, and then rounds that
// count until length has passed, one at least.
func (r *bulkRun) measure(ctx context.Context, length time.Duration, show term.Steps) error {
	r.start, r.length, r.show = time.Now(), length, show
	if err := r.round(ctx, r.check); err != nil {
		return err
	}
	runtime.GC() // not in the middle of it
	for r.done == 0 || time.Since(r.start) < length {
		if err := r.round(ctx, r.note); err != nil {
			return err
		}
		r.done++
	}
	return r.show.End()
}

// round gives each entry a batch. All who read objects read the same ones, of whoever made them
// last.
func (r *bulkRun) round(ctx context.Context, after func(*subject, *entry) error) error {
	for _, t := range r.subjects {
		for _, c := range t.entries {
			if c.idle = c.idle || c.mode != bulk.CPUAlone && !r.able(t, c.op); c.idle {
				continue
			}
			if err := r.give(ctx, t, c, c.pages); err != nil {
				return fmt.Errorf("%s: %w", t.algorithm, err)
			}
			if err := after(t, c); err != nil {
				return fmt.Errorf("%s, %s by %s: %w", t.algorithm, c.op, c.by, err)
			}
			if err := r.tick(); err != nil {
				return err
			}
		}
	}
	return nil
}

// able reports whether an engine beside the CPU can do anything of an operation, with the objects
// that the subject made last.
func (r *bulkRun) able(t *subject, op bulk.Op) bool {
	var seen [256]bool
	for _, id := range r.made.ID {
		seen[id] = true
	}
	for _, e := range t.engines {
		for id, there := range seen {
			if (there || op == bulk.Compress) && e.Can(op, codec.ID(id)) {
				return true
			}
		}
	}
	return false
}

// give lets a entry do the first n items of the batch.
func (r *bulkRun) give(ctx context.Context, t *subject, c *entry, n int) error {
	planner, b := t.all, r.back
	if c.alone {
		planner = t.one
	}
	planner.SetMode(c.mode)
	if c.op == bulk.Compress {
		b = r.made
	} else {
		b.Op, b.Regions, b.Region, b.Offset, b.Length, b.ID = c.op, r.made.Regions, r.made.Region, r.made.Offset, r.made.Length, r.made.ID
	}
	b.N = n
	defer func() { b.N = len(b.Verdict) }()
	err := planner.Run(ctx, b, &c.last)
	r.engines.note(&c.last)
	if err != nil {
		r.buffers.torn = r.buffers.torn || errors.Is(err, bulk.ErrTorn)
		return err
	}
	if done := c.last.Verdicts[bulk.Done]; done != n {
		return fmt.Errorf("%s of %d pages: %d were not done", c.op, n, n-done)
	}
	return nil
}

// check wants the pages back as they were.
func (r *bulkRun) check(t *subject, c *entry) error {
	switch c.op {
	case bulk.Compress:
		c.ratio = float64(c.pages) * pageSize / float64(c.last.Objects)
		t.ratio = c.ratio
	case bulk.Decompress:
		var wrong atomic.Bool
		inParts(c.pages, func(from, to int) {
			back := r.back.Pages[from*pageSize : to*pageSize]
			if !bytes.Equal(back, r.pages[from*pageSize:to*pageSize]) {
				wrong.Store(true)
			}
			clear(back)
		})
		if wrong.Load() {
			return errors.New("the pages did not come back as they were")
		}
	}
	return nil
}

// note keeps what was measured.
func (r *bulkRun) note(_ *subject, c *entry) error {
	c.times = append(c.times, c.last.Elapsed)
	c.sum.Add(&c.last)
	return nil
}

// tick shows the progress.
func (r *bulkRun) tick() error {
	at := min(time.Since(r.start), r.length)
	if at-r.shown < time.Millisecond {
		return nil
	}
	step := (at - r.shown) / time.Millisecond
	r.shown += step * time.Millisecond
	return r.show.Add(uint64(step))
}
