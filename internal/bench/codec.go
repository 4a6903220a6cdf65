// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/internal/term"
)

const (
	// turnPages is the number of pages of a turn: enough for the resolution of the clock, and few
	// enough that a change of the CPU's frequency meets all contestants.
	turnPages = 256
	// maxTimes bounds the times of single pages that a contestant keeps for each direction; later
	// times replace the oldest.
	maxTimes = 1 << 17
)

// Codec measures every implementation of the algorithms that this machine can run, page by page on
// one thread. It fails where a page does not come back as it was, and for a sample in which every
// page is one repeated word.
func Codec(s sample.Sample, o Options) (CodecReport, error) {
	variants, err := variantsOf(o.Algorithms)
	if err != nil {
		return CodecReport{}, err
	}
	r, err := newCodecRun(s, variants)
	if err != nil {
		return CodecReport{}, err
	}
	if err := r.measure(o.Length, term.NewSteps(o.Progress, "measuring", o.Length.Milliseconds())); err != nil {
		return CodecReport{}, err
	}
	return r.report(s), nil
}

// variantsOf returns all implementations of the algorithms, after the plain copy.
func variantsOf(algorithms []codec.Algorithm) ([]codec.Variant, error) {
	raw, err := codec.Parse(rawName)
	if err != nil {
		return nil, err
	}
	variants := []codec.Variant{{Algorithm: raw, Name: copyName}}
	for _, a := range algorithms {
		if a != raw {
			variants = append(variants, a.Variants()...)
		}
	}
	return variants, nil
}

// A direction tells compression from decompression.
type direction int

const (
	compressing direction = iota
	decompressing
	directions
)

// A codecRun measures contestants in turns. It is for one goroutine.
type codecRun struct {
	turns       [][]byte // the pages, in parts for one turn each
	pages       int      // of all turns
	same        int      // same-filled pages, which are left out
	contestants []*contestant
	clock       time.Duration // that two readings of the clock take
	start       time.Time
	done        int // completed rounds
}

// A contestant is one variant and its measurements.
type contestant struct {
	codec.Variant
	compressor   codec.Compressor
	decompressor *codec.Decompressor
	objects      []byte // of a turn, pageSize bytes for each page
	ids          [turnPages]codec.ID
	lengths      [turnPages]int
	page         [pageSize]byte
	seen         int64                         // checked pages
	stored       int64                         // bytes of their objects
	raw          int64                         // those of them that are stored as they are
	turnTimes    [directions][][]time.Duration // by turn, one for each of its rounds
	pageTimes    [directions][]time.Duration   // of single pages, at most maxTimes
	oldest       [directions]int               // index of the time to replace next
}

func newCodecRun(s sample.Sample, variants []codec.Variant) (*codecRun, error) {
	pages, same := sample.WithoutSameFilled(s.Pages)
	if len(pages) == 0 {
		return nil, errors.New("every page is one repeated word: there is nothing to compress")
	}
	r := &codecRun{turns: turnsOf(pages), pages: len(pages), same: same}
	for _, v := range variants {
		c := &contestant{Variant: v, objects: make([]byte, turnPages*pageSize)}
		var err error
		if c.compressor, err = v.Algorithm.NewCompressor(); err != nil {
			return nil, err
		}
		if c.decompressor, err = v.Algorithm.NewDecompressor(); err != nil {
			return nil, err
		}
		for d := range directions {
			c.turnTimes[d] = make([][]time.Duration, len(r.turns))
			c.pageTimes[d] = make([]time.Duration, 0, maxTimes)
		}
		r.contestants = append(r.contestants, c)
	}
	return r, nil
}

// turnsOf deals the pages out, so that each turn, and so a run that ends early, has pages of every
// part of the sample.
func turnsOf(pages [][]byte) [][]byte {
	count := (len(pages) + turnPages - 1) / turnPages
	turns := make([][]byte, count)
	for i, page := range pages {
		turns[i%count] = append(turns[i%count], page...)
	}
	return turns
}

// measure completes rounds until length has passed, at least one.
func (r *codecRun) measure(length time.Duration, show term.Steps) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC() // now, and not during a turn
	r.start = time.Now()
	r.clock = r.clockCost()
	shown := time.Duration(0)
	for r.done == 0 || time.Since(r.start) < length {
		if err := r.round(); err != nil {
			return err
		}
		if at := min(time.Since(r.start), length); at-shown >= time.Millisecond {
			if err := show.Add(uint64((at - shown) / time.Millisecond)); err != nil {
				return err
			}
			shown = at
		}
	}
	return show.End()
}

// round gives each contestant a turn with the same pages. The order rotates, since a contestant
// finds the caches as the one before it left them.
func (r *codecRun) round() error {
	turn := r.done % len(r.turns)
	for i := range r.contestants {
		c := r.contestants[(i+r.done)%len(r.contestants)]
		if err := r.give(c, turn); err != nil {
			return fmt.Errorf("%s: %w", c.Algorithm, err)
		}
	}
	r.done++
	return nil
}

// give is one contestant's turn. For the speed it times all pages together by the CPU time of the
// thread, which excludes other threads; then it times each page by the monotonic clock, since
// reading the CPU time takes a system call.
func (r *codecRun) give(c *contestant, turn int) error {
	pages := r.turns[turn]
	for d := range directions {
		begin, err := threadTime()
		if err != nil {
			return err
		}
		if err := c.all(d, pages); err != nil {
			return err
		}
		end, err := threadTime()
		if err != nil {
			return err
		}
		c.turnTimes[d][turn] = append(c.turnTimes[d][turn], end-begin)
	}
	for d := range directions {
		if err := r.each(c, d, pages); err != nil {
			return err
		}
	}
	if len(c.turnTimes[compressing][turn]) > 1 {
		return nil
	}
	return c.check(pages)
}

// all compresses or decompresses all pages of a turn. It allocates nothing.
func (c *contestant) all(d direction, pages []byte) error {
	for i := range len(pages) / pageSize {
		if err := c.one(d, i, pages); err != nil {
			return err
		}
	}
	return nil
}

// each does the same and times each page.
func (r *codecRun) each(c *contestant, d direction, pages []byte) error {
	for i := range len(pages) / pageSize {
		begin := time.Since(r.start)
		if err := c.one(d, i, pages); err != nil {
			return err
		}
		c.keep(d, max(time.Since(r.start)-begin-r.clock, 0))
	}
	return nil
}

// one compresses page i of a turn into its object, or decompresses the object.
func (c *contestant) one(d direction, i int, pages []byte) error {
	object := c.objects[i*pageSize : (i+1)*pageSize]
	if d == decompressing {
		return c.decompressor.Decompress(c.page[:], c.ids[i], object[:c.lengths[i]])
	}
	page := pages[i*pageSize : (i+1)*pageSize]
	id, n, err := c.compressor.Compress(object, page)
	if err != nil {
		return err
	}
	if id == codec.Raw {
		copy(object, page) // as the store does
	}
	c.ids[i], c.lengths[i] = id, n
	return nil
}

// keep records the time of one page.
func (c *contestant) keep(d direction, t time.Duration) {
	if len(c.pageTimes[d]) < maxTimes {
		c.pageTimes[d] = append(c.pageTimes[d], t)
		return
	}
	c.pageTimes[d][c.oldest[d]] = t
	c.oldest[d] = (c.oldest[d] + 1) % maxTimes
}

// check requires the pages of a turn back as they were, and adds up the sizes of their objects.
func (c *contestant) check(pages []byte) error {
	for i := range len(pages) / pageSize {
		if err := c.one(decompressing, i, pages); err != nil {
			return err
		}
		if !bytes.Equal(c.page[:], pages[i*pageSize:(i+1)*pageSize]) {
			return errors.New("a page did not come back as it was")
		}
		c.seen++
		c.stored += int64(c.lengths[i])
		if c.ids[i] == codec.Raw {
			c.raw++
		}
	}
	return nil
}

// clockCost returns the median time between two successive readings of the clock.
func (r *codecRun) clockCost() time.Duration {
	var times [1000]time.Duration
	for i := range times {
		begin := time.Since(r.start)
		times[i] = time.Since(r.start) - begin
	}
	return median(times[:])
}

// median sorts times and returns the middle one; of an even number the shorter of the two.
func median(times []time.Duration) time.Duration {
	sortTimes(times)
	return times[(len(times)-1)/2]
}

func sortTimes(times []time.Duration) {
	slices.Sort(times)
}
