// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
)

const (
	// trainPages is the most pages to train on: with fewer the gain drops, with more only the time
	// grows.
	trainPages = 4096
	// trainLeast is the fewest pages that give a meaningful result.
	trainLeast = 64
	// trainLooks bounds the pages read to find them, so that an empty device does not take for
	// ever.
	trainLooks = 4 << 20
	// trainRun and trainAside: of each trainAside runs of this many pages, one is kept aside.
	trainRun, trainAside = 16, 4
)

// training is one run of dict train.
type training struct {
	out       string // the file to write
	from      string // the file or the device that holds the pages
	open      func() (trainSource, error)
	algorithm codec.Algorithm // at the level to train for, without a dictionary
	level     int
	size      int // bytes
}

// run trains and measures, and writes the dictionary and a report.
func (t training) run(ctx context.Context, out, bar io.Writer) error {
	if _, err := os.Lstat(t.out); err == nil {
		return fmt.Errorf("%s exists already: what was stored with a dictionary can be read with that one only", t.out)
	}
	pages, err := t.read(ctx, bar)
	if err != nil {
		return err
	}
	var fit, aside [][]byte
	for i, page := range pages {
		if i/trainRun%trainAside == trainAside-1 {
			aside = append(aside, page)
		} else {
			fit = append(fit, page)
		}
	}
	data, err := codec.TrainDictionary(fit, t.level, t.size)
	if err != nil {
		return fmt.Errorf("%s: %w", t.from, err)
	}
	path, err := filepath.Abs(t.out)
	if err != nil {
		return err
	}
	with, err := codec.Parse(fmt.Sprintf("zstd(level=%d,dict=d)", t.level))
	if err != nil {
		return err
	}
	if with, err = with.WithDictionary("d", data); err != nil {
		return err
	}
	before, after, err := compare(t.algorithm, with, aside)
	if err != nil {
		return err
	}
	if after.bytes >= before.bytes {
		return fmt.Errorf("%s: %d pages that were kept aside take %d bytes without and %d with a dictionary: none is written",
			t.from, len(aside), before.bytes, after.bytes)
	}
	if err := writeNew(path, data); err != nil {
		return err
	}
	return t.report(out, path, len(fit), len(aside), len(data), before, after)
}

// report prints the result.
func (t training) report(out io.Writer, path string, fit, aside, size int, before, after packed) error {
	_, err := fmt.Fprintf(out, "%s: %s, made of %d pages\n"+
		"%d other pages: %.1f%% fewer bytes, ratio %.2f with it and %.2f without\n"+
		"compress %.1f us a page with it, %.1f without; decompress %.1f with, %.1f without\n"+
		"Use it: zramfs mount --algorithm 'zstd(level=%d,dict=%[1]s)' DIR\n",
		path, term.Size(uint64(size)), fit, aside, 100*(1-float64(after.bytes)/float64(before.bytes)), after.ratio(aside), before.ratio(aside),
		after.compress, before.compress, after.decompress, before.decompress, t.level)
	return err
}

// read returns up to trainPages pages, from all over the source.
func (t training) read(ctx context.Context, terminal io.Writer) (pages [][]byte, err error) {
	from, err := t.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	p := term.NewSteps(terminal, "reading", trainPages)
	pages, err = collect(ctx, from, p)
	if err = errors.Join(err, p.End()); err != nil {
		return nil, err
	}
	if len(pages) < trainLeast {
		return nil, fmt.Errorf("%s holds %d usable pages; training needs %d", t.from, len(pages), trainLeast)
	}
	return pages, nil
}

// collect reads pages of a source until it has trainPages that a codec gets. Its progress, out of
// trainPages, is the share of pages found or of pages read, whichever is larger.
func collect(ctx context.Context, from trainSource, p term.Steps) (pages [][]byte, err error) {
	total := from.Count()
	looks := min(total, trainLooks)
	shown, step := int64(0), stride(total)
	for i, at := int64(0), int64(0); i < looks && len(pages) < trainPages; i, at = i+1, (at+step)%total {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		page, err := from.Page(ctx, at)
		if err != nil {
			return nil, err
		}
		if page != nil {
			pages = append(pages, page)
		}
		done := max(int64(len(pages)), (i+1)*trainPages/looks)
		if err := p.Add(uint64(done - shown)); err != nil {
			return nil, err
		}
		shown = done
	}
	return pages, nil
}

// stride returns a step that visits total numbers, each once and evenly spread from the start: near
// the golden section, and coprime to total.
func stride(total int64) int64 {
	step := int64(float64(total)*0.6180339887) | 1
	for step < total && gcd(step, total) != 1 {
		step += 2
	}
	return step
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// packed is the result of an algorithm on some pages.
type packed struct {
	bytes                int
	compress, decompress float64 // microseconds a page
}

// ratio is the size of the pages over that of their objects.
func (p packed) ratio(pages int) float64 { return float64(pages*pageSize) / float64(p.bytes) }

// compare measures two algorithms on the same pages.
func compare(a, b codec.Algorithm, pages [][]byte) (first, second packed, err error) {
	if first, err = pack(a, pages); err != nil {
		return first, second, err
	}
	second, err = pack(b, pages)
	return first, second, err
}

// pack measures one algorithm. It goes over the pages twice and times the second pass, with warm
// caches.
func pack(a codec.Algorithm, pages [][]byte) (p packed, err error) {
	c, err := a.NewCompressor()
	if err != nil {
		return p, err
	}
	d, err := a.NewDecompressor()
	if err != nil {
		return p, err
	}
	objects, back := make([]byte, len(pages)*pageSize), make([]byte, pageSize)
	ids, sizes := make([]codec.ID, len(pages)), make([]int, len(pages))
	for range 2 {
		p.bytes = 0
		begin := time.Now()
		for i, page := range pages {
			object := objects[i*pageSize:]
			if ids[i], sizes[i], err = c.Compress(object, page); err != nil {
				return p, err
			}
			if ids[i] == codec.Raw {
				copy(object, page)
			}
			p.bytes += sizes[i]
		}
		middle := time.Now()
		for i := range pages {
			if err := d.Decompress(back, ids[i], objects[i*pageSize:][:sizes[i]]); err != nil {
				return p, err
			}
		}
		p.compress, p.decompress = perPage(middle.Sub(begin), len(pages)), perPage(time.Since(middle), len(pages))
	}
	return p, nil
}

// perPage returns microseconds a page.
func perPage(d time.Duration, pages int) float64 { return d.Seconds() * 1e6 / float64(pages) }

// writeNew creates a file. After an error there is none.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
