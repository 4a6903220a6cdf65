// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/sample"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
)

const (
	// turnPages is how many pages a contestant does at a time: enough that a clock can tell how long
	// they take, and few enough that a CPU which changes its speed does so for all contestants.
	turnPages = 256
	// maxTimes bounds how many times of single pages are kept, of each contestant and direction; later
	// ones replace the oldest.
	maxTimes = 1 << 17
)

// A direction is what is done with a page.
type direction int

const (
	compressing direction = iota
	decompressing
	directions
)

// A benchRun measures contestants by turns. It is used by one goroutine.
type benchRun struct {
	turns       [][]byte // the pages, in parts for one turn each
	pages       int      // in all of them
	same        int      // same-filled pages that were left out
	contestants []*contestant
	clock       time.Duration // what reading the clock takes
	start       time.Time
	done        int // rounds
}

// A contestant is one variant and what was measured of it.
type contestant struct {
	codec.Variant
	compressor   codec.Compressor
	decompressor *codec.Decompressor
	objects      []byte // of one turn's pages, pageSize bytes for each
	ids          [turnPages]codec.ID
	lengths      [turnPages]int
	page         [pageSize]byte
	stored       int64                         // bytes of the objects of the turns seen
	seen         int64                         // pages of those
	raw          int64                         // of those, pages stored as they are
	turnTimes    [directions][][]time.Duration // by turn, one for each round that it was in
	pageTimes    [directions][]time.Duration   // of single pages, at most maxTimes
	oldest       [directions]int               // where the next of those goes when there are as many
}

func newBenchRun(s sample.Sample, variants []codec.Variant) (*benchRun, error) {
	pages, same := sample.WithoutSameFilled(s.Pages)
	if len(pages) == 0 {
		return nil, errors.New("every page is one repeated word: there is nothing to compress")
	}
	r := &benchRun{turns: turnsOf(pages), pages: len(pages), same: same}
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

// turnsOf deals the pages out, so that each turn has its share of every part of them, and a run
// that ends early too.
func turnsOf(pages [][]byte) [][]byte {
	count := (len(pages) + turnPages - 1) / turnPages
	turns := make([][]byte, count)
	for i, page := range pages {
		turns[i%count] = append(turns[i%count], page...)
	}
	return turns
}

// measure goes round for as long as told, once at least.
func (r *benchRun) measure(length time.Duration, show term.Steps) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC() // not in the middle of it
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

// round gives each contestant a turn with the same pages. Who is first changes: the one before
// leaves its mark in the caches.
func (r *benchRun) round() error {
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

// give is one contestant's turn: all pages under one clock for the speed, the thread's own, which
// stands still while another thread has the CPU; then each under a clock of its own, the usual one,
// since that of the thread takes a system call.
func (r *benchRun) give(c *contestant, turn int) error {
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

// each does the same with a clock around every page.
func (r *benchRun) each(c *contestant, d direction, pages []byte) error {
	for i := range len(pages) / pageSize {
		begin := time.Since(r.start)
		if err := c.one(d, i, pages); err != nil {
			return err
		}
		c.keep(d, max(time.Since(r.start)-begin-r.clock, 0))
	}
	return nil
}

// one compresses page i of a turn to its object, or decompresses that.
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

// keep notes the time of one page.
func (c *contestant) keep(d direction, t time.Duration) {
	if len(c.pageTimes[d]) < maxTimes {
		c.pageTimes[d] = append(c.pageTimes[d], t)
		return
	}
	c.pageTimes[d][c.oldest[d]] = t
	c.oldest[d] = (c.oldest[d] + 1) % maxTimes
}

// check wants the pages of a turn back as they were, and counts what their objects take.
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

// clockCost returns what a pair of looks at the clock takes by itself.
func (r *benchRun) clockCost() time.Duration {
	var times [1000]time.Duration
	for i := range times {
		begin := time.Since(r.start)
		times[i] = time.Since(r.start) - begin
	}
	return median(times[:])
}

// median returns the middle one of times, which it sorts; of an even number the shorter.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[(len(times)-1)/2]
}
