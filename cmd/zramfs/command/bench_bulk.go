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
	"time"

	"github.com/urfave/cli/v2"

	"zramfs/codec"
	"zramfs/codec/bulk"
)

// maxBenchBatch is how many pages a batch of bench bulk may have: 4 GiB of them, for which it takes three times as much memory.
const maxBenchBatch = 1 << 20

// cpuName is what the CPU is called as an engine.
const cpuName = "cpu"

// benchBulkAction measures bulk work.
func benchBulkAction(c *cli.Context, from pageSource, length time.Duration) error {
	batch := c.Int(flagBatch)
	if batch < 1 || batch > maxBenchBatch {
		return usageError("bench: --%s %d: it is from 1 to %d", flagBatch, batch, maxBenchBatch)
	}
	o, err := engineOptionsOf(c, anyTask)
	if err != nil {
		return err
	}
	algorithms, err := bulkBenched(c.String(flagAlgorithm))
	if err != nil {
		return err
	}
	sample, err := from.take(c.Context, c.App.ErrWriter)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	r, err := newBulkRun(sample, algorithms, batch, o)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	err = r.measure(c.Context, length, newSteps(c.App.ErrWriter, "measuring", length.Milliseconds()))
	if err := errors.Join(err, r.close()); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return printReport(c.App.Writer, c.Bool(flagJSON), r.report(sample))
}

// bulkBenched returns what to measure: the algorithms that a list names, else those that are offered for a device. A plain copy comes first.
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
	pages   []byte // of a batch
	own     int    // pages that there were: the rest are those again
	same    int    // same-filled pages that were left out
	made    *bulk.Batch
	back    *bulk.Batch // what is made of made, with pages of its own
	teams   []*team
	start   time.Time
	length  time.Duration
	shown   time.Duration
	show    progress
	done    int      // rounds
	missing []string // why there are no engines of a kind
}

// A team is those who work for one algorithm.
type team struct {
	algorithm codec.Algorithm
	one, all  *bulk.Planner // with one worker and nobody else; with a worker on each core and the other engines
	engines   []string      // those besides
	stored    int64         // bytes of a batch's objects
	crews     []*crew
	cross     []bulkCrossover
}

// A crew is who works at one operation together, and what was measured of them.
type crew struct {
	op    bulk.Op
	by    string
	mode  bulk.Mode
	alone bool // one worker
	times []time.Duration
	sum   bulk.Report
	last  bulk.Report
}

func newBulkRun(s pageSample, algorithms []codec.Algorithm, batch int, o engineOptions) (r *bulkRun, err error) {
	pages, same := withoutSameFilled(s.pages)
	if len(pages) == 0 {
		return nil, errors.New("every page is one repeated word: there is nothing to compress")
	}
	r = &bulkRun{
		own: min(len(pages), batch), same: same, pages: make([]byte, 0, batch*pageSize),
		made: bulk.NewBatch(bulk.Compress, batch), back: bulk.NewBatch(bulk.Decompress, batch),
	}
	for i := range batch {
		r.pages = append(r.pages, pages[i%len(pages)]...)
	}
	r.made.Pages, r.back.Pages = r.pages, make([]byte, batch*pageSize)
	for _, a := range algorithms {
		t, missing, err := newTeam(a, batch, o)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.teams = append(r.teams, t)
		if missing != nil {
			r.missing = missing // the same for each
		}
	}
	return r, nil
}

// newTeam opens the engines. For the plain copy there are none, and reading is all that copies: what is stored raw is not moved.
func newTeam(a codec.Algorithm, batch int, o engineOptions) (t *team, missing []string, err error) {
	var engines []bulk.Engine
	operations := []bulk.Op{bulk.Compress, bulk.Decompress}
	if a.String() != rawName {
		operations = append(operations, bulk.Verify)
		if engines, missing, err = openEngines(a, o); err != nil {
			return nil, nil, err
		}
	}
	t = &team{algorithm: a}
	for _, e := range engines {
		t.engines = append(t.engines, e.Name())
	}
	if t.all, err = newPlanner(a, 0, engines, batch); err != nil {
		return nil, nil, err
	}
	if t.one, err = newPlanner(a, 1, nil, batch); err != nil {
		return nil, nil, errors.Join(err, t.all.Close())
	}
	for _, op := range operations {
		t.crews = append(t.crews, t.crewsFor(op)...)
	}
	return t, missing, nil
}

// crewsFor returns who does an operation.
func (t *team) crewsFor(op bulk.Op) []*crew {
	crews := []*crew{{op: op, by: cpuName, mode: bulk.CPUAlone, alone: true}}
	if runtime.GOMAXPROCS(0) > 1 {
		crews = append(crews, &crew{op: op, by: cpuName, mode: bulk.CPUAlone})
	}
	if len(t.engines) > 0 {
		together := strings.Join(t.engines, "+")
		crews = append(crews, &crew{op: op, by: together, mode: bulk.EnginesAlone}, &crew{op: op, by: cpuName + "+" + together, mode: bulk.Shared})
	}
	return crews
}

// close ends what newBulkRun has begun.
func (r *bulkRun) close() error {
	var errs []error
	for _, t := range r.teams {
		errs = append(errs, t.one.Close(), t.all.Close())
	}
	return errors.Join(errs...)
}

// measure does a round to see that all is right, and to have all memory present, and then rounds that count for as long as told, one at least. Of the
// time, what finding the crossover takes is kept.
func (r *bulkRun) measure(ctx context.Context, length time.Duration, show progress) error {
	r.start, r.length, r.show = time.Now(), length, show
	if err := r.round(ctx, r.check); err != nil {
		return err
	}
	runtime.GC() // not in the middle of it
	rounds := length
	if slices.ContainsFunc(r.teams, func(t *team) bool { return len(t.engines) > 0 }) {
		rounds = length / 2
	}
	for r.done == 0 || time.Since(r.start) < rounds {
		if err := r.round(ctx, r.note); err != nil {
			return err
		}
		r.done++
	}
	for _, t := range r.teams {
		if err := r.crossovers(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.algorithm, err)
		}
	}
	return r.show.end()
}

// round gives each crew a batch. All who read objects read the same ones, of whoever made them last.
func (r *bulkRun) round(ctx context.Context, after func(*team, *crew) error) error {
	for _, t := range r.teams {
		for _, c := range t.crews {
			if err := r.give(ctx, t, c, r.made.N); err != nil {
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

// give lets a crew do the first n items of the batch.
func (r *bulkRun) give(ctx context.Context, t *team, c *crew, n int) error {
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
	if err := planner.Run(ctx, b, &c.last); err != nil {
		return err
	}
	if done := c.last.Verdicts[bulk.Done]; done != n {
		return fmt.Errorf("%s of %d pages: %d were not done", c.op, n, n-done)
	}
	return nil
}

// check wants the pages back as they were.
func (r *bulkRun) check(t *team, c *crew) error {
	switch c.op {
	case bulk.Compress:
		t.stored = c.last.Objects
	case bulk.Decompress:
		if !bytes.Equal(r.back.Pages, r.pages) {
			return errors.New("the pages did not come back as they were")
		}
		clear(r.back.Pages)
	}
	return nil
}

// note keeps what was measured.
func (r *bulkRun) note(_ *team, c *crew) error {
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
	return r.show.show(uint64(step))
}
