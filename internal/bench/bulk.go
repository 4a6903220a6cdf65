// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/internal/term"
)

// Bulk measures batches of pages by one worker, by one on each core and, where e opens engines, by
// the engines alone and by all together. batch is the number of pages of a batch, which repeats a
// smaller sample; 0 is SamplePages or, with engines, 10 GB. A batch takes at most a quarter of the
// memory that e.Room returns. Bulk fails as Codec does, and where an engine cannot be opened.
func Bulk(ctx context.Context, s sample.Sample, o Options, batch int, e imageio.Options) (report BulkReport, err error) {
	algorithms, err := bulkAlgorithms(o.Algorithms)
	if err != nil {
		return report, err
	}
	r, err := newBulkRun(s, algorithms, batch, e)
	if err != nil {
		return report, err
	}
	if err = r.measure(ctx, o.Length, term.NewSteps(o.Progress, "measuring", o.Length.Milliseconds())); err == nil {
		report = r.report(s)
	}
	return report, errors.Join(err, r.close())
}

// bulkAlgorithms returns each of the algorithms once, after the plain copy.
func bulkAlgorithms(named []codec.Algorithm) ([]codec.Algorithm, error) {
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

// A bulkRun measures bulk work. It is for one goroutine.
type bulkRun struct {
	pages    []byte      // of a batch, as they are before compression
	own      int         // different pages of a batch: the rest repeat them
	same     int         // same-filled pages, which are left out
	wanted   int         // pages of a batch, were there memory enough
	made     *bulk.Batch // compresses pages to objects
	back     *bulk.Batch // reads the objects of made to pages of its own
	buffers  buffers
	engines  *engineSets
	subjects []*subject
	start    time.Time
	length   time.Duration
	shown    time.Duration
	show     term.Steps
	done     int // completed rounds, without the first
}

// newBulkRun makes a run; batch is as for Bulk. On an error it has closed the engines.
func newBulkRun(s sample.Sample, algorithms []codec.Algorithm, batch int, o imageio.Options) (_ *bulkRun, err error) {
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
	if r.engines, err = openEngines(algorithms, o); err != nil {
		return nil, err
	}
	others := len(r.engines.all()) > 0
	if r.wanted == 0 {
		r.wanted = SamplePages
		if others {
			r.wanted = largeBatch
		}
	}
	room, err := o.Room()
	if err != nil {
		return nil, err
	}
	if err := r.allocate(fitting(room, r.wanted), others); err != nil {
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

// fill copies pages to the batch, and repeats them to its end.
func (r *bulkRun) fill(pages [][]byte) {
	r.own = min(len(pages), r.made.N)
	inParts(r.made.N, func(from, to int) {
		for i := from; i < to; i++ {
			copy(r.pages[i*pageSize:(i+1)*pageSize], pages[i%len(pages)])
		}
	})
}

// allocate makes the memory of batches, and registers it with the engines.
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

// close closes the planners and engines, and unmaps the memory.
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

// measure does a first round, which checks the results and touches all memory, and then counted
// rounds until length has passed, at least one.
func (r *bulkRun) measure(ctx context.Context, length time.Duration, show term.Steps) error {
	r.start, r.length, r.show = time.Now(), length, show
	if err := r.round(ctx, r.check); err != nil {
		return err
	}
	runtime.GC() // now, and not during a batch
	for r.done == 0 || time.Since(r.start) < length {
		if err := r.round(ctx, r.note); err != nil {
			return err
		}
		r.done++
	}
	return r.show.End()
}

// round gives each entry a batch. All entries that read objects read those of the last entry that
// compressed.
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

// able reports whether an engine other than the CPU can do any part of an operation on the last
// objects.
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

// give has an entry do the first n items of the batch.
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

// check takes the ratio of compressed pages, and requires decompressed ones to equal the originals.
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

// note records the time and the report of a batch.
func (r *bulkRun) note(_ *subject, c *entry) error {
	c.times = append(c.times, c.last.Elapsed)
	c.sum.Add(&c.last)
	return nil
}

// tick shows the progress, in milliseconds.
func (r *bulkRun) tick() error {
	at := min(time.Since(r.start), r.length)
	if at-r.shown < time.Millisecond {
		return nil
	}
	step := (at - r.shown) / time.Millisecond
	r.shown += step * time.Millisecond
	return r.show.Add(uint64(step))
}
